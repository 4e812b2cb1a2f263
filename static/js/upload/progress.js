// The progress bar of preparing and sending: percent, rate, remaining time, and an announcement to screen readers at
// each quarter.

import { duration, size } from "./amounts.js";

const SAMPLE_MS = 500;
const REDRAW_MS = 80;
const LOST = "Connection lost; continuing…";

/** Texts of a phase: its bar, first word, quarters, end, and cancel button. */
const PHASES = {
  prepare: { label: "Preparation", begins: "Preparing", quarter: "prepared", ends: "prepared", cancel: "Cancel the preparation" },
  send: { label: "Upload", begins: "Uploading", quarter: "sent", ends: "sent, waiting for the answer", cancel: "Cancel the upload" },
};

export class Progress {
  /** @param {HTMLFormElement} form */
  constructor(form) {
    this.root = form.querySelector("[data-progress]");
    this.bar = this.root.querySelector("progress");
    this.name = this.root.querySelector("[data-progress-name]");
    this.numbers = this.root.querySelector("[data-progress-numbers]");
    this.button = this.root.querySelector("[data-cancel]");
    this.announcer = form.querySelector("[data-announcer]");
    this.button.addEventListener("click", () => this.onCancel?.());
    this.retry = this.root.querySelector("[data-retry]");
    this.retry.addEventListener("click", () => this.onRetry?.());
  }

  /** @param {"prepare" | "send"} phase @param {{name: string, total: number, onCancel: () => void}} job */
  start(phase, { name, total, onCancel }) {
    this.words = PHASES[phase];
    this.total = total;
    this.onCancel = onCancel;
    this.rate = 0;
    this.isLost = false;
    this.root.removeAttribute("data-lost");
    this.retry.hidden = true;
    this.sample = { at: performance.now(), done: 0 };
    this.drawnAt = 0;
    this.quarter = 0;
    this.root.dataset.progress = phase;
    this.bar.setAttribute("aria-label", this.words.label);
    this.button.textContent = this.words.cancel;
    this.name.textContent = phase === "prepare" ? `Preparing ${name}` : name;
    this.root.hidden = false;
    this.show(0);
    this.announce(`${this.words.begins} ${name}.`);
  }

  /** @param {number} done bytes */
  show(done) {
    const now = performance.now();
    if (this.isLost) return;
    if (done < this.total && now - this.drawnAt < REDRAW_MS) return;
    this.drawnAt = now;
    const part = this.total ? Math.min(1, done / this.total) : 0;
    this.measure(done);
    this.bar.value = Math.round(part * 100);
    const words = [`${Math.round(part * 100)} %`, `${size(done)} of ${size(this.total)}`];
    if (part === 1) words.push(this.words.ends);
    else if (this.rate) words.push(`${size(this.rate)}/s`, `${duration((this.total - done) / this.rate)} left`);
    this.numbers.textContent = words.join(" · ");
    const quarter = Math.floor(part * 4);
    if (quarter > this.quarter) this.announce(`${quarter * 25} percent ${this.words.quarter}.`);
    this.quarter = quarter;
  }

  /** Smooths the rate, to keep it readable. @param {number} done */
  measure(done) {
    const now = performance.now();
    const passed = now - this.sample.at;
    if (passed < SAMPLE_MS) return;
    if (done < this.sample.done) { // a broken line sends some bytes again
      this.sample = { at: now, done };
      return;
    }
    const current = ((done - this.sample.done) / passed) * 1000;
    this.rate = this.rate ? 0.7 * this.rate + 0.3 * current : current;
    this.sample = { at: now, done };
  }

  /** @param {boolean} isLost the connection; the next attempt follows @param {() => void} [retry] at once */
  pause(isLost, retry) {
    this.onRetry = retry;
    if (this.isLost === isLost) return;
    this.isLost = isLost;
    this.root.toggleAttribute("data-lost", isLost);
    this.retry.hidden = !isLost;
    this.sample = { at: performance.now(), done: Infinity }; // the pause is no rate
    this.rate = 0;
    if (isLost) this.numbers.textContent = LOST;
    this.announce(isLost ? LOST : "Connected again.");
  }

  stop() {
    this.onCancel = undefined;
    this.root.hidden = true;
  }

  /** @param {string} text */
  announce(text) {
    this.announcer.textContent = text;
  }
}
