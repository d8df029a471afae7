// Figures: drawn when they come near the screen, the first at once, the others when the page is idle.

const drawn = new Map(); // plot -> {figure, result, narrow}

const specFor = (figure, narrow) => {
  if (!narrow || !figure.narrow) return figure.spec;
  const spec = { ...figure.spec, ...figure.narrow };
  for (const [part, value] of Object.entries(spec)) if (value === null) delete spec[part];
  return spec;
};

const isNarrow = (plot, figures) => plot.clientWidth < figures.narrow_below;

const drawFigure = async (plot, figure, figures) => {
  const narrow = isNarrow(plot, figures);
  const before = drawn.get(plot);
  drawn.set(plot, { figure, narrow, result: before?.result });
  try {
    const place = plot.firstElementChild ?? plot.appendChild(document.createElement("div"));
    const result = await vegaEmbed(place, specFor(figure, narrow), {
      mode: "vega-lite",
      ast: true,
      renderer: "svg",
      actions: false,
      logLevel: 1, // errors alone: a layer without rows is no reason for a warning
      defaultStyle: false,
      config: isDark() ? figures.dark : figures.light,
      tooltip: { disableDefaultStyle: true },
    });
    before?.result?.finalize();
    drawn.set(plot, { figure, narrow, result });
    plot.classList.add("drawn");
    plot.classList.remove("failed");
    document.documentElement.dataset.drawn = isDark() ? "dark" : "light";
    performance.mark("stepmark:figure");
  } catch (error) {
    plot.classList.add("failed");
    plot.textContent = `This figure could not be drawn: ${error.message}`;
  }
};

const redrawFigures = (root, figures, wanted) => {
  for (const [plot, { figure, narrow }] of drawn) {
    if (!plot.isConnected) drawn.delete(plot);
    else if (root.contains(plot) && wanted(plot, narrow)) drawFigure(plot, figure, figures);
  }
};

const whenIdle = (task) => (window.requestIdleCallback ?? ((go) => setTimeout(go, 30)))(task);

const startFigures = (root, figures, signal) => {
  const waiting = new Map();
  const going = [];
  for (const plot of root.querySelectorAll("[data-figure]")) {
    waiting.set(plot, figures.figures[plot.dataset.figure]);
  }
  const draw = (plot) => {
    const figure = waiting.get(plot);
    waiting.delete(plot);
    if (figure) going.push(drawFigure(plot, figure, figures));
    return going.at(-1);
  };
  const near = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) {
      if (isIntersecting) {
        near.unobserve(target);
        draw(target);
      }
    }
  }, { rootMargin: "400px" });
  const rest = async () => {
    const [next] = waiting.keys();
    if (signal.aborted) return;
    if (!next) {
      await Promise.all(going);
      root.dataset.figures = "drawn";
      root.dispatchEvent(new CustomEvent("stepmark:drawn"));
      return;
    }
    near.unobserve(next);
    await draw(next);
    whenIdle(rest);
  };
  const [first] = waiting.keys();
  Promise.resolve(first && draw(first)).then(() => {
    for (const plot of waiting.keys()) near.observe(plot);
    whenIdle(rest);
  });
  document.addEventListener("stepmark:theme", () => redrawFigures(root, figures, () => true), { signal });
  let settle = 0;
  addEventListener("resize", () => {
    clearTimeout(settle);
    settle = setTimeout(() => redrawFigures(root, figures, (plot, was) => was !== isNarrow(plot, figures)), 150);
  }, { signal });
  signal.addEventListener("abort", () => {
    near.disconnect();
    for (const [plot, { result }] of drawn) {
      if (plot.isConnected && !root.contains(plot)) continue;
      result?.finalize();
      drawn.delete(plot);
    }
  });
};
