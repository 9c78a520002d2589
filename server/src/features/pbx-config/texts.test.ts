/** Every text of every kind of object, found in the schemas: refused, or rendered unchanged. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { z } from 'zod';
import { CONFIG_KINDS, KINDS, SINGLE_KINDS } from '@offhook/contract/config-objects.ts';
import type { ConfigKind } from '@offhook/contract/config-objects.ts';
import { renderSite } from '../../adapters/asterisk/conf/render.ts';
import { INSTANCE, PROGRAM, SETTINGS } from '../../../test/support/rendered-company.ts';
import { ServiceError } from '../../core/errors.ts';
import { FEATURE_CODES } from '../feature-codes/feature-codes.ts';
import { checkModel } from './check.ts';
import { toPbxConfig } from './config.ts';
import { Edit } from './edit.ts';
import { withObjects } from './model.ts';
import type { Model } from './model.ts';
import { defaultCode, toSite } from './site.ts';
import { EVERYTHING, modelOf } from '../../../test/support/config-company.ts';

type Value = Record<string, unknown>;
interface Def {
  readonly type: string;
  readonly innerType?: z.ZodType;
  readonly element?: z.ZodType;
  readonly options?: readonly z.ZodType[];
  readonly shape?: Readonly<Record<string, z.ZodType>>;
  readonly values?: readonly unknown[];
  readonly in?: z.ZodType;
}
const defOf = (schema: z.ZodType): Def => (schema as unknown as { _zod: { def: Def } })._zod.def;
/** Fixed values of an object's fields: literals. */
const fixed = (shape: Readonly<Record<string, z.ZodType>>): Value =>
  Object.fromEntries(
    Object.entries(shape).flatMap(([name, field]) => {
      const { type, values } = defOf(field);
      return type === 'literal' ? [[name, values![0]]] : [];
    }),
  );
/** Paths of the example's texts, each with a function that returns a copy with another text. */
function* places(
  schema: z.ZodType,
  example: unknown,
  path = '',
): Generator<readonly [string, (text: string) => unknown]> {
  const def = defOf(schema);
  switch (def.type) {
    case 'string':
      yield [path, (text) => text];
      return;
    case 'optional':
    case 'nullable':
    case 'default':
      yield* places(def.innerType!, example, path);
      return;
    case 'pipe':
      yield* places(def.in!, example, path);
      return;
    case 'union':
      for (const option of def.options!)
        yield* places(option, option.safeParse(example).success ? example : undefined, path);
      return;
    case 'array':
      for (const [where, put] of places(def.element!, (example as unknown[] | undefined)?.[0], `${path}.0`))
        yield [where, (text) => [put(text)]];
      return;
    case 'object': {
      const base = (example ?? fixed(def.shape!)) as Value;
      for (const [name, field] of Object.entries(def.shape!))
        for (const [where, put] of places(field, base[name], `${path}.${name}`))
          yield [where, (text) => ({ ...base, [name]: put(text) })];
      return;
    }
    default:
      assert.ok(
        ['enum', 'literal', 'number', 'boolean', 'unknown', 'int'].includes(def.type),
        `${path}: ${def.type}`,
      );
  }
}

const MARK = 'hzq';
const TEXTS = [
  '\r\nx',
  '\nx',
  '\rx',
  '\n[evil]\ntype=endpoint',
  ';x',
  '\\;x',
  '[x]',
  '](!)',
  '\0',
  '\t',
  '\u007f',
  '\u0085',
  '\u2028',
  '\u202ex',
  '😀',
  '${SHELL(id)}',
  '$[1+1]',
  '"',
  '""',
  "'",
  '`id`',
  '|x',
  ',1,System(id)',
  '&x',
  '@x',
  '=>x',
  '=x',
  '!x',
  '\\',
  '%0a',
  ' ',
  '/../x',
  '<x>',
  ';--',
  '--;',
]
  .flatMap((text) => [MARK + text, text + MARK])
  .concat([
    '#include hzq',
    '#exec hzq',
    '#tryinclude hzq',
    '[hzq]',
    'hzq'.repeat(3_400),
    '__proto__',
    'constructor',
    '',
    '${hzq',
    '#hzq',
    '😀'.repeat(3),
  ]);

const HOUSE = { codes: new Map(FEATURE_CODES.map((code) => [code.id, defaultCode(code)])) };
const BASE = modelOf(EVERYTHING);
const render = (model: Model) =>
  renderSite(toSite(toPbxConfig(model), FEATURE_CODES), INSTANCE, PROGRAM, {
    ...SETTINGS,
    engine_secret: 'a-secret-of-the-engines-0',
  });

/** Rendered files with this object added or replaced; null if the draft or the renderer refuses it. */
function filesWith(kind: ConfigKind, object: unknown): ReadonlyMap<string, string> | null {
  const edit = new Edit(BASE, (o) => o.etag);
  edit.put(kind, object);
  if (edit.findings.length > 0) return null;
  const model = withObjects(BASE, edit.changes());
  if (checkModel(model, HOUSE).length > 0) return null;
  try {
    return render(model);
  } catch (error) {
    assert.ok(error instanceof ServiceError && error.code === 'invalid_request', String(error));
    return null;
  }
}
const lines = (text: string): string[] => text.split('\n');
const headers = (text: string): string[] => lines(text).filter((line) => line.startsWith('['));
const directives = (text: string): string[] => lines(text).filter((line) => line.startsWith('#'));
const calls = (text: string): number => (text.match(/\b(?:SHELL|System|TrySystem)\(/g) ?? []).length;

test('configuration texts - any value in any text of any object is refused, or rendered unchanged', () => {
  const before = render(BASE);
  let tried = 0;
  let carried = 0;
  for (const kind of KINDS) {
    const { schema, key } = CONFIG_KINDS[kind];
    const found = [...places(schema, EVERYTHING[kind][0])];
    // These kinds have one fixed name.
    assert.ok(
      SINGLE_KINDS.has(kind) || found.some(([where]) => where === `.${key}`),
      `${kind}: its key is not found`,
    );
    for (const [where, put] of found) {
      for (const text of TEXTS) {
        tried += 1;
        const files = filesWith(kind, put(text));
        if (files === null) continue;
        carried += 1;
        for (const [name, file] of files) {
          const what = `${kind}${where} ${JSON.stringify(text.slice(0, 60))} in ${name}`;
          const old = before.get(name)!;
          // oxlint-disable-next-line no-control-regex -- these characters must not occur
          assert.doesNotMatch(file, /[\0\r\u0085\u2028]/, what);
          assert.deepEqual(directives(file), directives(old), what);
          for (const header of headers(file)) assert.ok(!header.includes(MARK), what);
          if (name === 'extensions.conf') assert.equal(calls(file), calls(old), what);
          for (const line of lines(file))
            if (line.includes(MARK) && text !== '')
              assert.ok(line.replaceAll('\\;', ';').includes(text), `${what}: ${line}`);
        }
      }
    }
  }
  assert.ok(tried > 5_000 && carried > 0, `${tried} tried, ${carried} carried`);
});

test('configuration texts - a name used by the engine or by our files is refused, or not ambiguous', () => {
  const before = render(BASE);
  const own = [...before.values()]
    .flatMap(headers)
    .flatMap((line) => /^\[([a-z0-9_-]{1,40})\]/.exec(line)?.[1] ?? []);
  const names = new Set([
    ...own,
    'general',
    'default',
    'globals',
    'trunk-north',
    'modules',
    'hints',
    'parkedcalls',
    'system',
    'all',
    'none',
    'h',
    's',
    'i',
    't',
    'custom',
    'site',
  ]);
  assert.ok(names.size > 40, [...names].join(' '));
  /** Sections by name, and by kind, because an endpoint, its address and its identification share a name. */
  const count = (name: string, text: string) => {
    const counts = new Map<string, number>();
    for (const section of text.split(/^(?=\[)/m).slice(1)) {
      const [header = '', own] = /^\[([^\]]*)\].*/.exec(section) ?? [];
      const type = /^type *= *(.*)$/m.exec(section)?.[1] ?? '';
      const key = name.startsWith('pj') ? `${header} ${type}` : own!;
      counts.set(key, (counts.get(key) ?? 0) + 1);
    }
    return counts;
  };
  let made = 0;
  for (const kind of KINDS) {
    const { key } = CONFIG_KINDS[kind];
    if (key !== 'name' || kind === 'settings') continue;
    for (const name of names) {
      const example = { ...EVERYTHING[kind][0], name } as Value;
      if (BASE.of(kind).has(name)) continue;
      // Other numbers, so that it does not collide with the example.
      if (typeof example['number'] === 'string' && kind !== 'inbound_route') example['number'] = '9999';
      if (kind === 'parking_lot') Object.assign(example, { first_slot: 9_001, last_slot: 9_002 });
      if (kind === 'inbound_route') example['number'] = '+4940';
      if (kind === 'trunk') example['host'] = '192.0.2.8';
      const files = filesWith(kind, example);
      if (files === null) continue;
      made += 1;
      for (const [file, text] of files) {
        const old = count(file, before.get(file)!);
        for (const [header, n] of count(file, text))
          assert.ok(
            n <= Math.max(1, old.get(header) ?? 0),
            `${kind} ${name}: ${n} times ${header} in ${file}`,
          );
      }
    }
  }
  assert.ok(made > 100, `only ${made} were accepted`);
});
