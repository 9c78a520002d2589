/**
 * Our own reader of Asterisk's configuration text, independent of the renderer: the content of a file, and where the engine's
 * reader would reject it as a whole.
 */
import type { EngineFiles } from '../../../ports/engine-config.ts';

export interface Option {
  readonly key: string;
  readonly value: string;
}
export interface Section {
  readonly name: string;
  /** Own and inherited options, inherited ones first. */
  readonly options: readonly Option[];
}
export interface FileRead {
  /** In the order of the file; without templates. */
  readonly sections: readonly Section[];
  /** Why the engine rejects the whole file, in our words; null where it does not. */
  readonly refused: string | null;
  /** True where it contains only blanks and comments. */
  readonly empty: boolean;
}

/** The engine's own limit on nested includes. */
const MOST_DEEP = 10;
interface Draft {
  readonly name: string;
  readonly options: Option[];
  readonly template: boolean;
}
class Refused extends Error {}

/** A line without its comment; `\;` is a semicolon. `lines` removes block comments. */
function uncommented(line: string): string {
  if (!line.includes(';')) return line.trim();
  let text = '';
  for (let i = 0; i < line.length; i++) {
    if (line[i] === '\\' && line[i + 1] === ';') {
      text += ';';
      i++;
    } else if (line[i] === ';') {
      break;
    } else {
      text += line[i];
    }
  }
  return text.trim();
}
/** Effective lines with their numbers, without text between `;--` and `--;`. */
function* lines(text: string): Generator<readonly [number, string]> {
  let inside = 0;
  let number = 0;
  for (const line of text.split('\n')) {
    number++;
    if (inside === 0 && !line.includes(';--')) {
      const plain = uncommented(line);
      if (plain !== '') yield [number, plain];
      continue;
    }
    let kept = '';
    let rest = line;
    for (;;) {
      const at = rest.search(inside > 0 ? /;--(?!-)|--;/ : /(?<!\\);--(?!-)/);
      if (at < 0) break;
      if (inside === 0) kept += rest.slice(0, at);
      inside += rest.startsWith(';--', at) ? 1 : -1;
      rest = rest.slice(at + 3);
    }
    if (inside === 0) kept += rest;
    const plain = uncommented(kept);
    if (plain !== '') yield [number, plain];
  }
}

/** Content of the file `name` as the engine reads it, with its includes. */
export function readSections(name: string, files: EngineFiles): FileRead {
  const drafts: Draft[] = [];
  const first = new Map<string, Draft>();
  const templates = new Map<string, Draft>();
  let current: Draft | null = null;
  let any = false;

  const open = (text: string, where: string): void => {
    const close = text.indexOf(']');
    if (close < 0) throw new Refused(`${where}: "[" without its "]"`);
    const title = text.slice(1, close);
    const after = text.slice(close + 1).trim();
    let template = false;
    const options: Option[] = [];
    if (after.startsWith('(')) {
      const end = after.indexOf(')');
      if (end < 0) throw new Refused(`${where}: "(" without its ")"`);
      for (const part of after
        .slice(1, end)
        .split(',')
        .map((p) => p.trim())) {
        if (part === '!') {
          template = true;
        } else if (part.startsWith('+')) {
          const found = first.get(title);
          if (found === undefined)
            throw new Refused(`${where}: [${title}] is added to, but there is none before`);
          current = found;
          return;
        } else {
          const base = templates.get(part) ?? first.get(part);
          if (base === undefined) throw new Refused(`${where}: there is no template [${part}] before`);
          options.push(...base.options);
        }
      }
    }
    current = { name: title, options, template };
    drafts.push(current);
    if (!first.has(title)) first.set(title, current);
    if (template && !templates.has(title)) templates.set(title, current);
  };

  const read = (file: string, depth: number): boolean => {
    const text = files.get(file);
    if (text === undefined) return false;
    if (depth > MOST_DEEP) throw new Refused(`${file}: files include each other`);
    for (const [number, line] of lines(text)) {
      any = true;
      const where = `${file} line ${number}`;
      if (line.startsWith('[')) {
        open(line, where);
      } else if (line.startsWith('#')) {
        const include = /^#(include|tryinclude)\s+["<]?([^\s">][^">]*)[">]?$/.exec(line);
        if (include !== null && !read(include[2]!, depth + 1) && include[1] === 'include')
          throw new Refused(`${where}: there is no ${include[2]}`);
      } else {
        const at = line.indexOf('=');
        // The engine ignores a line without content.
        if (at < 0) continue;
        if (current === null) throw new Refused(`${where}: it stands before the first section`);
        const key = line.slice(0, at).replace(/\+$/, '').trim();
        current.options.push({ key, value: line.slice(at + (line[at + 1] === '>' ? 2 : 1)).trim() });
      }
    }
    return true;
  };

  let refused: string | null = null;
  try {
    if (!read(name, 0)) refused = 'there is no such file';
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    refused = error.message;
  }
  return { sections: drafts.filter((d) => !d.template), refused, empty: !any };
}

/** The last value of a key, which is the one the engine uses; null where absent. */
export const lastOf = (section: Section, key: string): string | null =>
  section.options.findLast((o) => o.key.toLowerCase() === key)?.value ?? null;
