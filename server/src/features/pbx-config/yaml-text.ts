/** Word that needs no quotes, because no YAML reader takes it for a number, a boolean or null. */
const WORD = /^[a-z][a-z0-9_]*(?:-[a-z0-9_]+)*$/;
const SPECIAL = new Set(['true', 'false', 'null', 'yes', 'no', 'on', 'off', 'y', 'n']);
const scalar = (value: unknown): string =>
  typeof value === 'string' && WORD.test(value) && !SPECIAL.has(value) ? value : JSON.stringify(value);
const isLeaf = (value: unknown): boolean =>
  typeof value !== 'object' || value === null || Object.keys(value).length === 0;

function* lines(value: unknown, indent: string): Generator<string> {
  if (Array.isArray(value)) {
    for (const item of value) {
      if (isLeaf(item)) yield `${indent}- ${scalar(item)}`;
      else {
        let first = true;
        for (const line of lines(item, `${indent}  `)) {
          yield first ? `${indent}- ${line.slice(indent.length + 2)}` : line;
          first = false;
        }
      }
    }
    return;
  }
  for (const [name, item] of Object.entries(value as object)) {
    if (isLeaf(item)) yield `${indent}${scalar(name)}: ${scalar(item)}`;
    else {
      yield `${indent}${scalar(name)}:`;
      yield* lines(item, `${indent}  `);
    }
  }
}
/** JSON as YAML 1.2 in blocks: texts are quoted as in JSON, so every YAML reader returns the same values. */
export const toYaml = (value: object): string => `${[...lines(value, '')].join('\n')}\n`;
