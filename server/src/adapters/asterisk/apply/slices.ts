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
  const texts: Map<string, string[]> = new Map();
  for (const name of PHONES) {
    const text = files.get(name) ?? '';
    // A block comment may span sections, and an include stands for text that is not here.
    if (text.includes(';--')) return uncut;
    const [head = '', ...sections] = text.replace(CUSTOM, '').split(/^(?=\[)/m);
    if (sections.some((s) => s.includes('\n#'))) return uncut;
    const parts = Array.from({ length: count }, () => [head]);
    for (const section of sections) {
      const title = /^\[([^\]\n]+)\]/.exec(section)?.[1];
      if (title === undefined) return uncut;
      let at = place.get(title);
      if (at === undefined) {
        at = Math.min(Math.floor(place.size / each), count - 1);
        place.set(title, at);
      }
      parts[at]!.push(section);
    }
    texts.set(
      name,
      parts.map((part) => part.join('')),
    );
  }
  return Array.from({ length: count }, (_, i) => {
    const whole = i === 0;
    const own = new Map(files);
    for (const name of PHONES)
      own.set(name, `${texts.get(name)![i]}${whole ? '\n#tryinclude custom/pjsip.conf\n' : ''}`);
    if (!whole) for (const name of ONCE) own.set(name, '[general]\n');
    return { files: own, endpoints: endpoints.filter((name) => (place.get(name) ?? 0) === i), whole };
  });
}
