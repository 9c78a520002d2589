/** Texts kept at most, about 10 MB. */
const MOST = 50_000;
/** Longest text that is kept, in characters. */
const LONGEST = 128;
const texts = new Map<string, string>();

/**
 * The same text as a string of its own, and one string for equal texts. V8 makes a value cut from a frame a part of the
 * frame's string, so a membership that is stored for days would keep a whole frame in memory.
 */
export function kept(value: string): string {
  const known = texts.get(value);
  if (known !== undefined) return known;
  const own = Buffer.from(value).toString();
  if (own.length > LONGEST) return own;
  if (texts.size >= MOST) texts.clear();
  texts.set(own, own);
  return own;
}
