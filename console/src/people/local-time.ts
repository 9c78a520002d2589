/** Times of the fields in which people type them, which know no zone: they are those of this machine. */
const two = (n: number): string => String(n).padStart(2, '0');

/** `2026-11-22T14:05` of a time of the API; empty where there is none. */
export function toLocal(time: string | null): string {
  if (time === null) return '';
  const d = new Date(time);
  if (Number.isNaN(d.getTime())) return '';
  return `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())}T${two(d.getHours())}:${two(d.getMinutes())}`;
}
/** As the API takes it; null for an empty field. */
export function fromLocal(text: string): string | null {
  if (text === '') return null;
  const d = new Date(text);
  // What is no time goes as it is: the service says what is wrong with it.
  return Number.isNaN(d.getTime()) ? text : d.toISOString();
}
