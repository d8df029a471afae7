// The served application's own behaviour: choosing two runs, and following a run in progress.
"use strict";

(function () {
  const POLL_MILLISECONDS = 2000;
  const SLOWEST_POLL = 30000;
  const FOLLOWING = "What is known so far is below; it follows the run.";

  function chooseTwo(form) {
    const button = form.querySelector("[data-two]");
    const boxes = [...form.querySelectorAll('input[name="pick"]')];
    const update = function () {
      const chosen = boxes.filter((box) => box.checked).length;
      button.disabled = chosen !== 2;
      button.textContent = chosen === 1 ? "Choose one more to compare" : "Compare the two chosen";
      for (const box of boxes) {
        box.disabled = chosen >= 2 && !box.checked;
      }
    };
    form.addEventListener("change", update);
    window.addEventListener("pageshow", update);
    update();
  }

  // Where the reader is: the last element with an id above the window's upper edge, and how far above.
  function placeOf(root) {
    const marks = [...root.querySelectorAll("[id]")];
    const above = marks.filter((mark) => mark.getClientRects().length && mark.getBoundingClientRect().top <= 1);
    const mark = above[above.length - 1];
    return mark ? { id: mark.id, top: mark.getBoundingClientRect().top } : null;
  }

  const fieldsOf = (root) =>
    [...root.querySelectorAll("input, select")].filter((field) => !field.closest("[data-case-view], [data-case-bar]"));
  const headingsOf = (root) => [...root.querySelectorAll("th")];

  function stateOf(root) {
    return {
      place: placeOf(root),
      open: [...root.querySelectorAll("details")].map((details) => details.open),
      values: fieldsOf(root).map((field) => field.value),
      sorted: headingsOf(root).map((heading) => heading.getAttribute("aria-sort")),
      heights: new Map([...root.querySelectorAll("figure[id]")].map((figure) => [figure.id, figure.offsetHeight])),
    };
  }

  function goBack(place) {
    const mark = place && document.getElementById(place.id);
    if (mark) {
      window.scrollBy({ top: mark.getBoundingClientRect().top - place.top, behavior: "instant" });
    }
  }

  // Figures are drawn one after the other: each keeps its room until it is.
  function keepRoom(root, heights) {
    for (const figure of root.querySelectorAll("figure[id]")) {
      if (heights.has(figure.id)) {
        figure.style.minHeight = `${heights.get(figure.id)}px`;
      }
    }
  }

  function restoreTables(root, state) {
    fieldsOf(root).forEach((field, place) => {
      if (state.values[place] !== undefined && field.value !== state.values[place]) {
        field.value = state.values[place];
        field.dispatchEvent(new Event("input", { bubbles: true }));
        field.dispatchEvent(new Event("change", { bubbles: true }));
      }
    });
    headingsOf(root).forEach((heading, place) => {
      const wanted = state.sorted[place];
      for (let turn = 0; turn < 2 && wanted && wanted !== "none" && heading.getAttribute("aria-sort") !== wanted; turn += 1) {
        heading.querySelector("button")?.click();
      }
    });
  }

  // A reader who types, has marked a text, or reads the evidence of a case is not disturbed.
  function isBusy(root) {
    const focused = document.activeElement;
    if (root.contains(focused) && focused.matches("input, select, textarea")) {
      return true;
    }
    const selection = document.getSelection();
    if (selection && !selection.isCollapsed && root.contains(selection.anchorNode)) {
      return true;
    }
    const evidence = root.querySelector("[data-case-view]");
    const box = evidence && !evidence.hidden ? evidence.getBoundingClientRect() : null;
    return Boolean(box && box.height && box.top < window.innerHeight && box.bottom > 0);
  }

  async function ask(path) {
    const answer = await fetch(path, { headers: { Accept: "application/json, text/html" } });
    if (!answer.ok) {
      throw new Error(`${path}: ${answer.status}`);
    }
    return answer;
  }

  async function replaceReport(root, path) {
    const text = await (await ask(path)).text();
    const state = stateOf(root);
    const fresh = new DOMParser().parseFromString(text, "text/html");
    root.replaceChildren(...fresh.body.childNodes);
    keepRoom(root, state.heights);
    [...root.querySelectorAll("details")].forEach((details, place) => {
      details.open = Boolean(state.open[place]);
    });
    goBack(state.place);
    await window.stepmark?.start?.(root);
    restoreTables(root, state);
    goBack(state.place);
  }

  // The report scrolls to the address's anchor when it is drawn; drawn again, it stays where the reader is.
  function stayInPlace(root) {
    root.addEventListener(
      "stepmark:drawn",
      function (event) {
        if (root.dataset.followed) {
          event.stopImmediatePropagation();
        }
        for (const figure of root.querySelectorAll("figure[id]")) {
          figure.style.minHeight = "";
        }
      },
      true,
    );
  }

  function showProgress(progress) {
    const panel = document.getElementById("progress");
    const most = progress.num_cases + progress.max_launches;
    panel.querySelector("progress").value = most
      ? Math.min(1, (progress.num_solos + progress.num_launches) / most)
      : 0;
    panel.querySelector('[data-progress="solos"]').textContent = progress.num_solos;
    panel.querySelector('[data-progress="launches"]').textContent = progress.num_launches;
  }

  function note(text) {
    document.querySelector('[data-progress="note"]').textContent = text;
  }

  function follow(root) {
    const run = encodeURIComponent(root.dataset.live);
    let stamp = root.dataset.stamp;
    let wait = POLL_MILLISECONDS;
    const catchUp = async function (progress) {
      const begin = performance.now();
      root.dataset.followed = "true";
      await replaceReport(root, `/runs/${run}/report`);
      stamp = progress.stamp;
      root.dataset.stamp = stamp;
      // A report that takes long to draw is drawn less often.
      wait = Math.min(SLOWEST_POLL, Math.max(POLL_MILLISECONDS, 4 * (performance.now() - begin)));
    };
    const look = async function () {
      try {
        const progress = await (await ask(`/api/runs/${run}/progress`)).json();
        showProgress(progress);
        const news = progress.stamp !== stamp;
        const busy = news && isBusy(root);
        wait = POLL_MILLISECONDS;
        if (news && !busy) {
          await catchUp(progress);
        }
        if (progress.status !== "running" && !busy) {
          end(progress);
          return;
        }
        note(busy ? "There is more; it is shown when you are done here." : FOLLOWING);
      } catch (error) {
        note("The server does not answer; this page goes on asking.");
        wait = Math.min(SLOWEST_POLL, 2 * wait);
      }
      window.setTimeout(look, wait);
    };
    stayInPlace(root);
    window.setTimeout(look, wait);
  }

  function end(progress) {
    document.getElementById("progress").classList.add("done");
    document.getElementById("progress-title").textContent = progress.status === "complete" ? "Complete" : "Interrupted";
    document.querySelector("#progress progress").value = 1;
    const status = document.querySelector(".crumbs .status");
    status.className = `status status-${progress.status}`;
    status.textContent = progress.status;
    note("The report below is that of the whole run.");
  }

  document.querySelectorAll("form[data-choose-two]").forEach(chooseTwo);
  document.querySelectorAll("[data-live]").forEach(follow);
})();
