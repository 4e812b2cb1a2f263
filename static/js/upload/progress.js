// The progress bar: percent, rate, remaining time, and a word to screen readers at each quarter.

const SAMPLE_MS = 500;

export class Progress {
  /** @param {HTMLFormElement} form */
  constructor(form) {
    this.root = form.querySelector("[data-progress]");
    this.bar = this.root.querySelector("progress");
    this.name = this.root.querySelector("[data-progress-name]");
    this.numbers = this.root.querySelector("[data-progress-numbers]");
    this.announcer = form.querySelector("[data-announcer]");
    this.root.querySelector("[data-cancel]").addEventListener("click", () => this.onCancel?.());
  }

  /** @param {File} file @param {() => void} onCancel */
  start(file, onCancel) {
    this.total = file.size;
    this.onCancel = onCancel;
    this.rate = 0;
    this.sample = { at: performance.now(), sent: 0 };
    this.quarter = 0;
    this.name.textContent = file.name;
    this.root.hidden = false;
    this.show(0);
    this.announce(`Uploading ${file.name}.`);
  }

  /** @param {number} sent bytes */
  show(sent) {
    const part = this.total ? Math.min(1, sent / this.total) : 0;
    this.measure(sent);
    this.bar.value = Math.round(part * 100);
    const words = [`${Math.round(part * 100)} %`, `${size(sent)} of ${size(this.total)}`];
    if (part === 1) words.push("sent, waiting for the answer");
    else if (this.rate) words.push(`${size(this.rate)}/s`, `${duration((this.total - sent) / this.rate)} left`);
    this.numbers.textContent = words.join(" · ");
    const quarter = Math.floor(part * 4);
    if (quarter > this.quarter) this.announce(`${quarter * 25} percent sent.`);
    this.quarter = quarter;
  }

  /** The rate follows slowly, so that it can be read. @param {number} sent */
  measure(sent) {
    const now = performance.now();
    const passed = now - this.sample.at;
    if (passed < SAMPLE_MS) return;
    const current = ((sent - this.sample.sent) / passed) * 1000;
    this.rate = this.rate ? 0.7 * this.rate + 0.3 * current : current;
    this.sample = { at: now, sent };
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

/** @param {number} bytes */
function size(bytes) {
  if (bytes < 1000) return `${Math.round(bytes)} bytes`;
  const [amount, unit] = bytes < 999_500 ? [bytes / 1000, "kB"] : [bytes / 1_000_000, "MB"];
  return `${amount.toFixed(amount < 9.95 ? 1 : 0)} ${unit}`;
}

/** @param {number} seconds */
function duration(seconds) {
  if (seconds < 90) return `${Math.ceil(seconds)} s`;
  return `${Math.ceil(seconds / 60)} min`;
}
