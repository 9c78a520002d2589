import { stripTypeScriptTypes } from 'node:module';
import path from 'node:path';
import { tool } from '../../../tools/install.ts';
import { lineOf } from './sources.ts';
import type { Source } from './sources.ts';

export interface RefusalTexts {
  /** Keys of the texts of `say`, each with file and line. */
  readonly texts: ReadonlyMap<string, string>;
  /** Texts that are concatenated and therefore cannot be translated, each with file and line. */
  readonly untold: ReadonlyMap<string, string>;
}
/** A node of the syntax tree (ESTree). */
interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [field: string]: unknown;
}
const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && typeof (value as Node).type === 'string';
const nodesIn = (value: unknown): Node[] =>
  Array.isArray(value) ? value.filter(isNode) : isNode(value) ? [value] : [];
function* walk(node: Node): Generator<Node> {
  yield node;
  for (const value of Object.values(node)) for (const inner of nodesIn(value)) yield* walk(inner);
}
const nameOf = (node: unknown): string | undefined =>
  isNode(node) && node.type === 'Identifier' ? String(node['name']) : undefined;

/** Rules of schemas whose second argument is the text of a refusal. */
const RULES: ReadonlySet<string> = new Set(['regex', 'refine', 'min', 'max', 'length']);
const methodOf = ({ callee }: Node): string =>
  (isNode(callee) ? nameOf(callee['property']) : undefined) ?? '';
/** Names that a function passes to rules of schemas as their texts. */
const rulesIn = (made: Node): ReadonlySet<string | undefined> =>
  new Set(
    /Function/.test(made.type)
      ? [...walk(made)]
          .filter((node) => RULES.has(methodOf(node)))
          .map((node) => nameOf(nodesIn(node['arguments'])[1]))
          .filter((name) => name !== undefined)
      : [],
  );

/** A source file with the functions and constants that lead to its texts. */
class File {
  readonly #source: Source;
  readonly nodes: readonly Node[];
  /** Functions with a parameter that becomes the text of an error; value: its index. */
  readonly makers = new Map<string, number>();
  readonly #constants = new Map<string, Node>();
  constructor(source: Source, root: Node) {
    this.#source = source;
    this.nodes = [...walk(root)];
    for (const node of this.nodes) {
      const { type, id, init } = node;
      const name = nameOf(id);
      if (name === undefined) continue;
      if (type === 'VariableDeclarator' && isNode(init)) this.#constants.set(name, init);
      const made = type === 'FunctionDeclaration' ? node : init;
      if (!isNode(made)) continue;
      const ruled = rulesIn(made);
      const index = nodesIn(made['params']).findIndex(
        (one) => this.#takesText(one) || ruled.has(nameOf(one)),
      );
      if (index !== -1) this.makers.set(name, index);
    }
  }
  /** Types are blank in the syntax tree, so the source text is searched. */
  #takesText({ end }: Node): boolean {
    return this.#source.text.slice(end).startsWith(': Said | string');
  }
  get path(): string {
    return this.#source.path;
  }
  at({ start }: Node): string {
    return `${this.path}:${lineOf(this.#source.text, start)}`;
  }
  constant(name: string): Node | undefined {
    return this.#constants.get(name);
  }
}

/** Texts of every `ServiceError` and its makers, of every `say` and of schema rules. */
export async function refusalTexts(sources: readonly Source[]): Promise<RefusalTexts> {
  const { parse } = (await tool('acorn')) as { parse: (text: string, options: object) => Node };
  const options = { ecmaVersion: 'latest', sourceType: 'module' };
  const files = sources.map((source) => new File(source, parse(stripTypeScriptTypes(source.text), options)));
  const byPath = new Map(files.map((file) => [file.path, file]));
  const texts = new Map<string, string>();
  const untold = new Map<string, string>();
  for (const file of files) {
    const makers = new Map([...file.makers, ...importedMakers(file, byPath)]);
    const follow = (node: Node | undefined): void => {
      if (node === undefined) return;
      const { type, value } = node;
      if (typeof value === 'string') texts.set(value, file.at(node));
      if (type === 'TemplateLiteral') untold.set(keyOf(node), file.at(node));
      if (type === 'Identifier') follow(file.constant(String(node['name'])));
      if (type === 'ConditionalExpression') nodesIn([node['consequent'], node['alternate']]).forEach(follow);
      if (type === 'LogicalExpression') nodesIn([node['left'], node['right']]).forEach(follow);
      if (type === 'ObjectExpression')
        nodesIn(node['properties'])
          .filter(({ key }) => nameOf(key) === 'message')
          .forEach((entry) => nodesIn(entry['value']).forEach(follow));
      if (type === 'MemberExpression') {
        const record = file.constant(nameOf(node['object']) ?? '');
        nodesIn(record?.['properties']).forEach((entry) => nodesIn(entry['value']).forEach(follow));
      }
    };
    for (const node of file.nodes) {
      const [callee, given] = [nameOf(node['callee']) ?? '', nodesIn(node['arguments'])];
      if (node.type === 'TaggedTemplateExpression' && nameOf(node['tag']) === 'say')
        texts.set(keyOf(node['quasi'] as Node), file.at(node));
      if (node.type === 'NewExpression' && callee === 'ServiceError') follow(given[1]);
      if (node.type !== 'CallExpression') continue;
      const index = makers.get(callee);
      if (index !== undefined) follow(given[index]);
      const method = methodOf(node);
      if (RULES.has(method)) follow(given[1]);
      if (method === 'addIssue') follow(given[0]);
    }
  }
  return { texts, untold };
}
function importedMakers(file: File, byPath: ReadonlyMap<string, File>): [string, number][] {
  return file.nodes.flatMap((node) => {
    if (node.type !== 'ImportDeclaration') return [];
    const { value } = node['source'] as { readonly value: string };
    const from = byPath.get(path.join(path.dirname(file.path), value));
    return nodesIn(node['specifiers']).flatMap(({ local, imported }): [string, number][] => {
      const index = from?.makers.get(nameOf(imported) ?? '');
      return index === undefined ? [] : [[nameOf(local) ?? '', index]];
    });
  });
}
const keyOf = (quasi: Node): string =>
  nodesIn(quasi['quasis'])
    .map(({ value }) => (value as { readonly cooked: string }).cooked)
    .reduce((key, part, i) => `${key}{${i - 1}}${part}`);
