/**
 * Templates of phone configurations: text with `{{name}}`, `{{#name}}…{{/name}}` for each item of a list or if a flag
 * is set, and `{{^name}}…{{/name}}` if a flag is not set. Every value is escaped for the format of the file.
 */
export const FORMATS = ['lines', 'xml', 'json'] as const;
export type Format = (typeof FORMATS)[number];
/** Type of each variable: a text, a flag, or a list of items with variables of their own. */
export interface Variables {
  readonly [name: string]: 'text' | 'flag' | Variables;
}
export interface Values {
  readonly [name: string]: string | boolean | readonly Values[];
}
type Node =
  | string
  | { readonly value: string }
  | { readonly section: string; readonly not: boolean; of: Node[] };
export interface Template {
  readonly nodes: readonly Node[];
  readonly format: Format;
}

const TAG = /\{\{([#^/]?)([a-z_]{1,40})\}\}/g;
/** A section tag that is alone in its line; the whole line is removed. */
const ALONE = /^[ \t]{0,100}(\{\{[#^/][a-z_]{1,40}\}\})[ \t]{0,100}\r?\n/gm;

/** Throws an `Error` that names the fault: an unknown variable, one of another type, or a section without an end. */
export function parseTemplate(text: string, format: Format, variables: Variables): Template {
  const source = text.replaceAll(ALONE, '$1');
  const root: Node[] = [];
  const open: { name: string; nodes: Node[]; scope: readonly Variables[] }[] = [
    { name: '', nodes: root, scope: [variables] },
  ];
  let at = 0;
  const plain = (to: number): void => {
    const part = source.slice(at, to);
    if (part.includes('{{'))
      throw new Error(`not a variable: ${part.slice(part.indexOf('{{')).slice(0, 40)}`);
    if (part !== '') open.at(-1)!.nodes.push(part);
  };
  for (const { 0: tag, 1: mark, 2: name = '', index } of source.matchAll(TAG)) {
    plain(index);
    at = index + tag.length;
    const { name: current, nodes, scope } = open.at(-1)!;
    if (mark === '/') {
      if (current !== name || open.length === 1) throw new Error(`{{/${name}}} ends no section`);
      open.pop();
      continue;
    }
    const type = scope.findLast((one) => Object.hasOwn(one, name))?.[name];
    if (type === undefined) throw new Error(`there is no variable ${name}`);
    if (mark === '') {
      if (type !== 'text') throw new Error(`${name} is no text`);
      nodes.push({ value: name });
      continue;
    }
    if (type === 'text' || (mark === '^' && type !== 'flag')) throw new Error(`${name} is no section`);
    const section: Node = { section: name, not: mark === '^', of: [] };
    nodes.push(section);
    open.push({ name, nodes: section.of, scope: type === 'flag' ? scope : [...scope, type] });
  }
  plain(source.length);
  if (open.length > 1) throw new Error(`{{#${open.at(-1)!.name}}} has no end`);
  return { nodes: root, format };
}

const XML: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&apos;',
};
/** Throws an `Error` for control characters and line separators, which could add lines to the file. */
export function escaped(value: string, format: Format): string {
  if (/[\p{Cc}\p{Zl}\p{Zp}\p{Cs}]/u.test(value)) throw new Error('a value has control characters');
  if (format === 'xml') return value.replaceAll(/[&<>"']/g, (c) => XML[c]!);
  return format === 'json' ? JSON.stringify(value).slice(1, -1) : value;
}
export function renderTemplate({ nodes, format }: Template, values: Values): string {
  const render = (some: readonly Node[], scope: readonly Values[]): string =>
    some
      .map((node) => {
        if (typeof node === 'string') return node;
        const name = 'value' in node ? node.value : node.section;
        const value = scope.findLast((one) => Object.hasOwn(one, name))![name]!;
        if ('value' in node) return escaped(value as string, format);
        if (typeof value !== 'object') return (value === true) === node.not ? '' : render(node.of, scope);
        return value.map((item) => render(node.of, [...scope, item])).join('');
      })
      .join('');
  return render(nodes, [values]);
}
