/**
 * Splits a large site over several throw-away engines. The engine sorts its endpoints by insertion, in quadratic time: five
 * engines with 3,000 each start in a quarter of the time of one with 15,000.
 */
import type { EngineFiles } from '../../../ports/engine-config.ts';
import { FILE_OF } from './meant.ts';

export interface Slice {
  readonly files: EngineFiles;
  /** Endpoints this slice is asked about. */
  readonly endpoints: readonly string[];
  /** True for the slice with everything but the phones of the others. */
  readonly whole: boolean;
}

/** From this many endpoints on a site is split, into slices of this size. */
const MANY = 6_000;
const EACH = 3_000;
const PHONES = [FILE_OF.endpoint, FILE_OF.auth, FILE_OF.aor] as const;
/** Files the other slices do without; proven once. */
const ONCE = [FILE_OF.queue, FILE_OF.dialplan, FILE_OF.mailbox] as const;
const CUSTOM = /^#tryinclude custom\/pjsip\.conf\n$/m;

/** A file of phones: the text before its first section, and its sections, each with its name. */
interface Cut {
  readonly head: string;
  readonly sections: readonly { readonly title: string; readonly text: string }[];
}
/** Null where the text cannot be split between two sections. */
function cut(text: string): Cut | null {
  // A block comment may span sections, and the text of an include is in another file.
  if (text.includes(';--')) return null;
  const [head = '', ...parts] = text.replace(CUSTOM, '').split(/^(?=\[)/m);
  const sections: { title: string; text: string }[] = [];
  for (const part of parts) {
    const title = /^\[([^\]\n]+)\]/.exec(part)?.[1];
    if (title === undefined || part.includes('\n#')) return null;
    sections.push({ title, text: part });
  }
  return { head, sections };
}
const joined = (head: string, sections: readonly string[], whole: boolean): string =>
  `${head}${sections.join('')}${whole ? '\n#tryinclude custom/pjsip.conf\n' : ''}`;

/** The files without the sections of these phones; null where their text cannot be split between two sections. */
export function withoutPhones(files: EngineFiles, names: ReadonlySet<string>): EngineFiles | null {
  const left = new Map(files);
  for (const name of PHONES) {
    const parts = cut(files.get(name) ?? '');
    if (parts === null) return null;
    const kept = parts.sections.filter(({ title }) => !names.has(title)).map(({ text }) => text);
    left.set(name, joined(parts.head, kept, true));
  }
  return left;
}

/** The whole site as one slice where it is small, or contains text that cannot be split between two sections. */
export function slicesOf(
  files: EngineFiles,
  endpoints: readonly string[],
  { many, each }: { readonly many: number; readonly each: number } = { many: MANY, each: EACH },
): readonly Slice[] {
  const uncut: readonly Slice[] = [{ files, endpoints, whole: true }];
  if (endpoints.length <= many) return uncut;
  const place = new Map<string, number>();
  const count = Math.ceil(endpoints.length / each);
  const texts = new Map<string, readonly (readonly string[])[]>();
  const heads = new Map<string, string>();
  for (const name of PHONES) {
    const found = cut(files.get(name) ?? '');
    if (found === null) return uncut;
    const parts: string[][] = Array.from({ length: count }, () => []);
    for (const { title, text } of found.sections) {
      let at = place.get(title);
      if (at === undefined) {
        at = Math.min(Math.floor(place.size / each), count - 1);
        place.set(title, at);
      }
      parts[at]!.push(text);
    }
    heads.set(name, found.head);
    texts.set(name, parts);
  }
  return Array.from({ length: count }, (_, i) => {
    const whole = i === 0;
    const own = new Map(files);
    for (const name of PHONES) own.set(name, joined(heads.get(name)!, texts.get(name)![i]!, whole));
    if (!whole) for (const name of ONCE) own.set(name, '[general]\n');
    return { files: own, endpoints: endpoints.filter((name) => (place.get(name) ?? 0) === i), whole };
  });
}
