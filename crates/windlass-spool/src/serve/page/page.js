// Updates the page, except while one of its buttons has the focus.
"use strict";
const live = document.getElementById("live");
let isAway = false;

async function look() {
  if (document.hidden || live.matches(":focus-within")) return;
  try {
    const answer = await fetch("/live", { cache: "no-store" });
    if (!answer.ok) throw new Error(answer.statusText);
    live.innerHTML = await answer.text();
    isAway = false;
  } catch {
    if (isAway) return;
    isAway = true;
    const words = document.createElement("p");
    words.className = "away";
    words.textContent = "The spool does not answer; the page shows its last state.";
    live.prepend(words);
  }
}

setInterval(look, 2000);
document.addEventListener("visibilitychange", look);
