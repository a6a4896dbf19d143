// Keeps the page of a run up to date until the run ends, and takes dropped files.
"use strict";
const live = document.getElementById("live");
const told = document.getElementById("status");
const PAUSE = 500;

function tell(words) {
  // An unchanged text is not read aloud again.
  if (told.textContent !== words) told.textContent = words;
}

async function look() {
  let isOver = false;
  // A hidden page makes no requests.
  if (document.hidden) {
    setTimeout(look, PAUSE);
    return;
  }
  try {
    const answer = await fetch(live.dataset.from, { cache: "no-store" });
    if (!answer.ok) throw new Error(answer.statusText);
    live.innerHTML = await answer.text();
    const now = live.firstElementChild.dataset;
    isOver = now.over === "true";
    tell(now.status);
    if (now.next) location.replace(now.next);
  } catch {
    tell("windlass ui does not answer. This page shows the last state.");
  }
  if (isOver) document.getElementById("stop")?.setAttribute("hidden", "");
  else setTimeout(look, PAUSE);
}

if (live && live.dataset.from) setTimeout(look, PAUSE);

const upload = document.getElementById("upload");

function prepare() {
  const [input, problem] = [document.getElementById("capture"), document.getElementById("upload-problem")];
  const zone = upload.querySelector(".drop");
  const isFiles = (event) => event.dataTransfer?.types.includes("Files");
  upload.addEventListener("submit", (event) => {
    const size = [...input.files].reduce((sum, file) => sum + file.size, 0);
    problem.hidden = size <= +upload.dataset.most;
    // The server would break off in the middle, and a browser tells of that in its own words.
    if (problem.hidden) return;
    problem.textContent = "These files are too large to upload. Start windlass ui with --captures FOLDER, and choose them there.";
    event.preventDefault();
  });
  addEventListener("dragover", (event) => {
    if (!isFiles(event)) return;
    event.preventDefault();
    zone.classList.add("over");
  });
  addEventListener("dragleave", (event) => {
    if (event.relatedTarget === null) zone.classList.remove("over");
  });
  addEventListener("drop", (event) => {
    if (!isFiles(event)) return;
    event.preventDefault();
    zone.classList.remove("over");
    input.files = event.dataTransfer.files;
    if (input.files.length > 0) upload.requestSubmit();
  });
}

if (upload) prepare();
