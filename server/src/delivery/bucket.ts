/** So many at once, and so many a second after that. A number each, for ten thousand of them. */
export class Bucket {
  #tokens: number;
  #at = performance.now();
  readonly #burst: number;
  readonly #perSecond: number;
  constructor(burst: number, perSecond: number) {
    this.#tokens = burst;
    this.#burst = burst;
    this.#perSecond = perSecond;
  }
  /** False where there is none left. */
  take(): boolean {
    const now = performance.now();
    this.#tokens = Math.min(this.#burst, this.#tokens + ((now - this.#at) / 1000) * this.#perSecond);
    this.#at = now;
    if (this.#tokens < 1) return false;
    this.#tokens -= 1;
    return true;
  }
}
