/** Refusals of fields, shown at their inputs and with the labels of the form. */
import { OffhookError } from '@offhook/client';
import { language } from './words.ts';

/** Label of each field of the request that the form sends. */
export type Labels = Readonly<Record<string, string>>;

const errorsIn = (error: unknown) => (error instanceof OffhookError && error.problem?.errors) || [];
const isAt = (path: string, field: string): boolean => path === field || path.startsWith(`${field}.`);
const capitalised = (text: string): string => text.slice(0, 1).toLocaleUpperCase(language()) + text.slice(1);

/** Rules of the refusal that the value of a field, or of a part of it, breaks; false without one. */
export function errorAt(error: unknown, field: string): string | false {
  const broken = errorsIn(error).filter(({ path }) => isAt(path, field));
  return broken.length > 0 && capitalised(broken.map(({ detail }) => detail).join('; '));
}
/** Props of the input of a field: its label, and the rules that it breaks. */
export function fieldsWith<L extends Labels>(error: unknown, labels: L) {
  return (field: keyof L & string) => ({ label: labels[field]!, error: errorAt(error, field) });
}
/** One line for each rule that the fields of the form break; null if the refusal names something that is no field of the form. */
export function linesOf(error: unknown, labels: Labels): string[] | null {
  const lines = errorsIn(error).map(({ path, detail }) => {
    const [, label] =
      Object.entries(labels)
        .filter(([field]) => isAt(path, field))
        .toSorted(([a], [b]) => b.length - a.length)[0] ?? [];
    return label === undefined ? null : `${label}: ${detail}`;
  });
  return lines.length === 0 || lines.includes(null) ? null : [...new Set(lines as string[])];
}
