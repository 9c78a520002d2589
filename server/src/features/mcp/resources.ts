/** Resources: replies of some reading tools, each at an address that a program can attach for its model. */
import type { Caller } from '../../ports/http.ts';
import { mayCall } from './tools.ts';
import type { Tool } from './tools.ts';

type Tools = ReadonlyMap<string, Tool>;
/** The tool that lists a kind, and the one that reads an object by `argument`. */
const KINDS = {
  queues: { list: 'queues_list', one: 'queues_get', argument: 'name' },
  agents: { list: 'agents_list', one: 'agents_get', argument: 'extension' },
  conversations: { list: 'conversations_list', one: 'conversations_get', argument: 'id' },
} as const;
const ADDRESS = /^offhook:\/\/(queues|agents|conversations)(?:\/([^/?#]{1,600}))?$/;
const mimeType = 'application/json';

const allowed = (tools: Tools, caller: Caller, name: string): Tool[] =>
  [...tools.values()].filter((tool) => tool.name === name && mayCall(caller, tool));

/** The lists that the caller may read. */
export const resourcesOf = (tools: Tools, caller: Caller) =>
  Object.entries(KINDS).flatMap(([name, { list }]) =>
    allowed(tools, caller, list).map(({ operation }) => ({
      uri: `offhook://${name}`,
      name,
      title: operation.summary,
      mimeType,
    })),
  );
/** The addresses of single objects that the caller may read. */
export const templatesOf = (tools: Tools, caller: Caller) =>
  Object.entries(KINDS).flatMap(([name, { one, argument }]) =>
    allowed(tools, caller, one).map(({ operation }) => ({
      uriTemplate: `offhook://${name}/{${argument}}`,
      name,
      title: operation.summary,
      mimeType,
    })),
  );
/** Tool and arguments that read a resource; null if no resource has this address. */
export function readingOf(
  tools: Tools,
  uri: string,
): { readonly tool: Tool; readonly args: Readonly<Record<string, string>> } | null {
  const [, name, part] = ADDRESS.exec(uri) ?? [];
  if (name === undefined) return null;
  const { list, one, argument } = KINDS[name as keyof typeof KINDS];
  const key = keyOf(part);
  const tool = tools.get(key === undefined ? list : one);
  if (tool === undefined || key === null) return null;
  return { tool, args: key === undefined ? {} : { [argument]: key } };
}
/** The decoded key of an object; undefined for the address of a list, null for a wrong encoding. */
function keyOf(part: string | undefined): string | null | undefined {
  try {
    return part === undefined ? undefined : decodeURIComponent(part);
  } catch {
    return null;
  }
}
