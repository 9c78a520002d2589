/** Converts pixels of the default text size to the text size of the page. */
export const scaled = (px: number): number =>
  (px * Number.parseFloat(getComputedStyle(document.documentElement).fontSize)) / 16;
