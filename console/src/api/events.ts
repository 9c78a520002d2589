/** The service's AsyncAPI document for the page. */
import { normal } from './operations.ts';
import { resolved } from './schema.ts';
import type { Schema, Schemas } from './schema.ts';

interface Channel {
  readonly address: string | null;
  readonly title?: string;
  readonly messages: Readonly<Record<string, unknown>>;
}
export interface AsyncApi {
  readonly info: { readonly version: string; readonly description?: string };
  readonly channels: Readonly<Record<string, Channel>>;
  readonly components: {
    readonly messages: Readonly<
      Record<string, { readonly name?: string; readonly summary?: string; readonly payload?: Schema }>
    >;
    readonly schemas?: Schemas;
  };
}
export interface Topic {
  /** `queues/{name}` */
  readonly address: string;
  readonly events: readonly string[];
}
export interface Message {
  readonly name: string;
  readonly group: string;
  readonly summary: string;
  /** For an event the schema of its `data`; for a frame that of the whole frame. */
  readonly schema: Schema;
  readonly event: boolean;
  readonly topics: readonly string[];
  readonly text: string;
}
/** Topics that can be subscribed to, without the channels of the stream itself and of webhooks. */
export const topicsOf = ({ channels }: AsyncApi): Topic[] =>
  Object.values(channels)
    .filter(({ address }) => address !== null && !address.startsWith('/'))
    .map(({ address, messages }) => ({ address: address ?? '', events: Object.keys(messages) }));

/** Frames and commands after the events. */
const FRAMES = ['snapshot', 'client', 'server', 'command', 'result'];
export function messagesOf(document: AsyncApi): Message[] {
  const topics = topicsOf(document);
  const schemas = document.components.schemas ?? {};
  const rank = (group: string): number => FRAMES.indexOf(group);
  return Object.entries(document.components.messages)
    .map(([name, { summary = '', payload = {} }]): Message => {
      const group = name.slice(0, name.indexOf('.'));
      const event = !FRAMES.includes(group);
      const own = topics.filter(({ events }) => events.includes(name)).map(({ address }) => address);
      const data = event ? resolved(payload, schemas).properties?.data : undefined;
      return {
        name,
        group,
        summary,
        schema: data ?? payload,
        event,
        topics: own,
        text: normal(`${name} ${summary} ${own.join(' ')}`),
      };
    })
    .toSorted(
      (a, b) => rank(a.group) - rank(b.group) || (a.group === b.group ? 0 : a.group < b.group ? -1 : 1),
    );
}
