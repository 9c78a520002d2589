/** Numbers, and e-mails, that are checked of one line: a cell can hold thousands, and each costs time and memory. */
export const MAX_VALUES = 40;

/** A row of a CSV file or a card, as it was written. */
export interface Line {
  /** Line of the file where it begins, from 1. */
  readonly line: number;
  /** Id at its source; null for one without. */
  readonly uid: string | null;
  /** A field that the file does not have is absent, and stays as it is in a customer that the line updates. */
  readonly fields: Partial<Record<FieldName, string>>;
  /** At most `MAX_VALUES`, and one more where the line has more; the same for e-mails. */
  readonly numbers: readonly Value[];
  readonly emails: readonly Value[];
  /** Properties that cannot be read; `whole`: without this one the card has to be left out. */
  readonly unreadable: readonly { readonly field: string; readonly whole: boolean }[];
}
export type FieldName = 'kind' | 'name' | 'company' | 'note' | 'owner' | 'language' | 'vip' | 'blocked';
export interface Value {
  readonly value: string;
  readonly label: string | null;
  /** Column or property that contains it. */
  readonly field: string;
}
/** The lines of a file. Each iteration parses the file again. */
export type Lines = AsyncIterable<Line> & {
  /** Headings of columns that are not imported. */
  readonly ignored: readonly string[];
};
