// Sets the theme before anything is painted. The choice is this browser's; by default the system's.
"use strict";
try {
  const theme = localStorage.getItem("theme");
  if (theme) document.documentElement.dataset.theme = theme;
} catch { /* a browser that keeps nothing */ }
document.documentElement.classList.add("js", "wrap");
