"use strict";
/* Long work in slices, so that a picture is not late while the work is done.
 *
 * A job is a generator. It yields after each slice the number of nodes that the slice visited, which is
 * about SLICE. The first slice runs at once, so a small profile is done when start() returns. After that,
 * each picture has slices for SLICE_TIME. A job that yields 0 goes on in the next picture. Until the job is done, the element has the word for it and
 * dataset.moves. dataset.slices and dataset.most have the number of slices and the nodes of the largest. */

const SLICE = 8192, SLICE_TIME = 4; /* nodes; milliseconds, so that drawing fits into the same picture */

function makeSlices(element) {
  let job = null, word = "", asked = 0;

  function runSlice() {
    const { value, done } = job.next();
    if (done) { job = null; return 0; }
    element.dataset.slices = Number(element.dataset.slices) + 1;
    element.dataset.most = Math.max(Number(element.dataset.most), value);
    return value;
  }

  function ask() {
    asked = job ? requestAnimationFrame(runPicture) : 0;
    element.dataset.moves = job !== null;
    if (element.textContent !== (job ? word : "")) element.textContent = job ? word : "";
  }

  function runPicture() {
    const end = performance.now() + SLICE_TIME;
    while (runSlice() && performance.now() < end);
    ask();
  }

  return {
    /* Begins a job in place of the one that runs. */
    start(next, text) {
      cancelAnimationFrame(asked);
      job = next;
      word = text;
      element.dataset.slices = element.dataset.most = 0;
      runSlice();
      ask();
    },
    /* Ends the job that runs, at once. */
    finish() {
      while (job) runSlice();
      cancelAnimationFrame(asked);
      ask();
    },
  };
}

/* The result of a job that is done at once. */
function finish(job) {
  for (;;) {
    const { value, done } = job.next();
    if (done) return value;
  }
}
