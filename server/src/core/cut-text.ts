/** The beginning of a text, at most `most` UTF-16 units; a character that takes two of them is whole or absent. */
export const cutText = (text: string, most: number): string =>
  text.slice(0, most).replace(/[\uD800-\uDBFF]$/, '');
