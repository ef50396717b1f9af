// Before anything is drawn: the theme that the reader has chosen, if any. No module, so that it does not wait.
(() => {
  try {
    const theme = localStorage.getItem('lanista-theme');
    if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;
  } catch {
    // Storage may be switched off: the system's choice holds.
  }
})();
