// The theme: the system's, or what the reader chose; charts are drawn again when it changes.

const systemDark = matchMedia("(prefers-color-scheme: dark)");
const THEME_KEY = "stepmark-theme";

const storedTheme = () => {
  try { return localStorage.getItem(THEME_KEY); } catch { return null; }
};
const keepTheme = (theme) => {
  try { localStorage.setItem(THEME_KEY, theme); } catch { /* a page from disk may not store anything */ }
};

const isDark = () => {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : systemDark.matches;
};

const showTheme = () => {
  for (const button of document.querySelectorAll("[data-theme-switch]")) {
    button.textContent = isDark() ? "Light" : "Dark";
    button.setAttribute("aria-label", `Switch to ${isDark() ? "light" : "dark"} colours`);
  }
  document.dispatchEvent(new CustomEvent("stepmark:theme"));
};

const startTheme = () => {
  const kept = storedTheme();
  if (kept === "dark" || kept === "light") document.documentElement.dataset.theme = kept;
  document.addEventListener("click", (event) => {
    if (!event.target.closest("[data-theme-switch]")) return;
    const next = isDark() ? "light" : "dark";
    document.documentElement.dataset.theme = next;
    keepTheme(next);
    showTheme();
  });
  systemDark.addEventListener("change", showTheme);
  showTheme();
};
