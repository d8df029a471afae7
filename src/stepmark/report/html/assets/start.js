// The start: a report below `root`, which may be the whole document or a part that was just put into it.

const startCasesOf = async (report, figures, text, signal) => {
  const page = {
    run: report.dataset.report,
    figures,
    series: JSON.parse(report.querySelector("[data-series]").textContent),
    cases: await packedJson(text("cases")),
  };
  startCases(report, page, signal);
};

const lives = new Map(); // report -> what ends its listeners

// Reports that were taken out of the page are forgotten, with their data.
const forgetOld = (again) => {
  for (const [report, life] of lives) {
    if (report.isConnected && !again.includes(report)) continue;
    life.abort();
    lives.delete(report);
  }
};

const startReport = async (report, signal) => {
  startTables(report);
  const text = (name) => report.querySelector(`[data-packed="${name}"]`)?.textContent.trim();
  if (!text("figures")) return;
  const figures = await packedJson(text("figures"));
  report.addEventListener("stepmark:drawn", () => {
    if (location.hash && scrollY > 0) document.getElementById(location.hash.slice(1))?.scrollIntoView();
  }, { once: true, signal });
  startFigures(report, figures, signal);
  if (text("cases")) await startCasesOf(report, figures, text, signal);
};

const start = async (root = document) => {
  const reports = root.matches?.("[data-report]") ? [root] : [...root.querySelectorAll("[data-report]")];
  forgetOld(reports);
  for (const report of reports) {
    const life = new AbortController();
    lives.set(report, life);
    await startReport(report, life.signal);
  }
};

window.stepmark = { start };
startTheme();
start();
