// The evidence for one case: its part of the page, its figures with its own data, its raw values as files.

const LABELS = ["low severe", "low mild", "regular", "high mild", "high severe"];

// Every block of a case in time order, with the nanoseconds of each measured phase.
const readSeries = async (series) => {
  const count = series.blocks.reduce((sum, blocks) => sum + blocks, 0);
  const rounds = await packedColumn(series.rounds, count);
  const turns = await packedColumn(series.turns, count);
  const phases = {};
  for (const phase of series.phases) {
    phases[phase.phase] = { ...phase, values: await packedColumn(phase.nanoseconds, count) };
  }
  const labels = {};
  const boxes = {};
  for (const shown of series.shown) {
    labels[shown.name] = await packedColumn(shown.labels, count);
    boxes[shown.name] = await packedColumn(shown.boxes, 5 * series.launches.length);
  }
  const launchAt = series.blocks.flatMap((blocks, place) => new Array(blocks).fill(place));
  return { series, count, rounds, turns, phases, labels, boxes, launchAt };
};

const secondsAt = (read, shown, at) =>
  shown.parts.reduce((sum, part) => {
    const phase = read.phases[part];
    return sum + phase.values[at] / phase.iterations[read.launchAt[at]] / 1e9;
  }, 0);

// Outliers are all drawn, of the others every so-manieth; what lies far beyond the rest is drawn at its edge.
const MOST_DRAWN = 2000;

const sampleRows = (read, shown) => {
  const [low, high] = shown.edges;
  const stride = Math.max(1, Math.ceil(read.count / MOST_DRAWN));
  const rows = [];
  for (let at = 0; at < read.count; at += 1) {
    const label = LABELS[read.labels[shown.name][at]];
    if (label === "regular" && at % stride) continue;
    const seconds = secondsAt(read, shown, at);
    const row = {
      launch: read.series.launches[read.launchAt[at]], round: read.rounds[at], place: at, seconds, label,
    };
    if (read.turns[at]) row.turn = read.turns[at];
    if (seconds < low || seconds > high) row.drawn = Math.min(Math.max(seconds, low), high);
    rows.push(row);
  }
  return rows;
};

const MOST_NAMES = 14;

const launchRows = (read, shown) => {
  const count = read.series.launches.length;
  const stride = Math.max(1, Math.ceil(count / MOST_NAMES));
  let start = 0;
  return read.series.launches.map((launch, nth) => {
    const box = [0, 1, 2, 3, 4].map((part) => read.boxes[shown.name][part * count + nth] / 1e12);
    const [low, q1, median, q3, high] = box;
    const end = start + read.series.blocks[nth];
    const row = {
      launch, odd: nth % 2 === 1, first: start - 0.5, middle: (start + end - 1) / 2, last: end - 0.5,
      low, q1, median, q3, high, blocks: read.series.measured[nth], outliers: shown.outliers[nth],
    };
    if (nth % stride === 0) row.name = String(launch);
    start = end;
    return row;
  });
};

const levelRows = (level) => (level ? [{ seconds: level.seconds, low: level.low, high: level.high }] : []);

const warmupRows = (series) =>
  series.warmups.flatMap(({ launch, first, iterations, blocks, settled }) => {
    const shared = { launch, settled: settled ? "yes" : "no" };
    return [
      ...first.map((nanoseconds, at) => ({
        ...shared, iteration: at + 1, seconds: nanoseconds / 1e9, part: "first iterations",
      })),
      ...blocks.map((nanoseconds, at) => ({
        ...shared,
        iteration: first.length + (at + 1) * iterations,
        seconds: nanoseconds / iterations / 1e9,
        part: "warm-up blocks",
      })),
    ].filter((row) => row.seconds > 0);
  });

const rawRows = (read, id) => {
  const rows = [];
  for (let at = 0; at < read.count; at += 1) {
    for (const [name, phase] of Object.entries(read.phases)) {
      const place = read.launchAt[at];
      rows.push({
        case: id, launch: read.series.launches[place], round: read.rounds[at], turn: read.turns[at], phase: name,
        iterations: phase.iterations[place], nanoseconds: phase.values[at],
      });
    }
  }
  return rows;
};

const csvField = (value) => (/[",\r\n]/.test(value) ? `"${String(value).replaceAll('"', '""')}"` : String(value));

const asCsv = (rows) => {
  const names = Object.keys(rows[0] ?? {});
  return [names, ...rows.map((row) => names.map((name) => row[name]))]
    .map((line) => line.map((value) => csvField(value)).join(",")).join("\n") + "\n";
};

const download = (text, name, type) => {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
};

const caseDatasets = (read, name) => {
  const shown = read.series.shown.find((each) => each.name === name);
  return {
    samples: sampleRows(read, shown),
    launches: launchRows(read, shown),
    level: levelRows(shown.level),
    warmup: warmupRows(read.series),
    steady: levelRows(read.series.steady),
  };
};

const withData = (figure, datasets) => {
  const own = { ...figure.spec.datasets };
  for (const name of Object.keys(own)) own[name] = datasets[name] ?? own[name];
  return { ...figure, spec: { ...figure.spec, datasets: own } };
};

// How long the bar under a share is; the style sheet draws it.
const drawShares = (view) => {
  for (const cell of view.querySelectorAll(".share")) {
    cell.style.setProperty("--share", `${parseFloat(cell.textContent)}%`);
  }
};

const showCase = async (root, page, anchor) => {
  const found = page.cases.findIndex((each) => each.anchor === anchor);
  if (found < 0) return;
  const { html, id } = page.cases[found];
  page.looked = (page.looked ?? 0) + 1;
  const look = page.looked; // who looks at another case meanwhile does not see this one's figures
  const view = root.querySelector("[data-case-view]");
  view.innerHTML = html; // made by the templates, where every text is escaped
  view.hidden = false;
  delete view.dataset.shown;
  root.querySelector("[data-case-choice]").value = anchor;
  root.querySelector("[data-case-bar]").hidden = false;
  view.querySelector("h3").focus({ preventScroll: true });
  view.scrollIntoView();
  startTables(view);
  drawShares(view);
  const series = page.series[anchor];
  if (!series) {
    view.dataset.shown = anchor;
    return;
  }
  const read = await readSeries(series);
  if (look !== page.looked) return;
  const choice = view.querySelector("[data-phase-choice]");
  const draw = () => {
    const datasets = caseDatasets(read, choice ? choice.value : series.shown[0].name);
    return Promise.all([...view.querySelectorAll("[data-sample-figure]")].map((plot) =>
      drawFigure(plot, withData(page.figures.samples[plot.dataset.sampleFigure], datasets), page.figures)));
  };
  choice?.addEventListener("change", draw);
  view.querySelector("[data-csv]")?.addEventListener("click", () =>
    download(asCsv(rawRows(read, id)), `${page.run}-${anchor}.csv`, "text/csv"));
  view.querySelector("[data-json]")?.addEventListener("click", () => {
    const raw = { run: page.run, case: id, samples: rawRows(read, id), warmup: series.warmups };
    download(JSON.stringify(raw), `${page.run}-${anchor}.json`, "application/json");
  });
  await draw();
  if (look === page.looked) view.dataset.shown = anchor;
};

const startCases = (root, page, signal) => {
  const choice = root.querySelector("[data-case-choice]");
  if (!choice) return;
  const follow = () => {
    if (/^#case-\d+$/.test(location.hash)) showCase(root, page, location.hash.slice(1));
  };
  choice.addEventListener("change", () => { location.hash = choice.value; });
  const step = (by) => {
    const next = choice.options[choice.selectedIndex + by];
    if (next?.value) location.hash = next.value;
  };
  root.querySelector("[data-case-before]").addEventListener("click", () => step(-1));
  root.querySelector("[data-case-after]").addEventListener("click", () => step(1));
  addEventListener("hashchange", follow, { signal });
  follow();
};
