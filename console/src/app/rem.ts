/** Pixels at the usual size of text, as many as they are at the size the page has now. */
export const scaled = (px: number): number =>
  (px * Number.parseFloat(getComputedStyle(document.documentElement).fontSize)) / 16;
