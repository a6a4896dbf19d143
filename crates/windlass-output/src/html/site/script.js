// Keeps the page of a run as things are, until it is over.
"use strict";
const live = document.getElementById("live");
const told = document.getElementById("status");
const PAUSE = 500;

function tell(words) {
  // What is the same is not read aloud again.
  if (told.textContent !== words) told.textContent = words;
}

async function look() {
  let isOver = false;
  try {
    const answer = await fetch(live.dataset.from, { cache: "no-store" });
    if (!answer.ok) throw new Error(answer.statusText);
    live.innerHTML = await answer.text();
    const now = live.firstElementChild.dataset;
    isOver = now.over === "true";
    tell(now.status);
  } catch {
    tell("windlass ui does not answer; this is how it was.");
  }
  if (isOver) document.getElementById("stop").hidden = true;
  else setTimeout(look, PAUSE);
}

if (live && live.dataset.from) setTimeout(look, PAUSE);
