import type { Conversation } from '@offhook/contract/conversations.ts';
import type { CallView, ConnectorEntries, PersonView } from './format/session.ts';

/** Limit of notes in an entry; the newest notes of the conversation are used. */
const MAX_NOTES = 20;

/** Direction as connector files use it, and its words in a title. */
const DIRECTIONS = {
  in: ['inbound', 'Incoming call'],
  out: ['outbound', 'Outgoing call'],
  internal: ['internal', 'Internal call'],
  transit: ['transit', 'Passed on call'],
} as const;
const ended: Readonly<Record<string, string>> = { abandoned_in_queue: 'abandoned in the queue' };
/** An empty call. */
export const NO_CALL: CallView = {
  id: '',
  direction: '',
  disposition: '',
  ending: '',
  answered: false,
  title: '',
  text: '',
  html: '',
  from: '',
  to: '',
  number: '',
  queue: '',
  note: '',
  result: '',
  recording_url: '',
  url: '',
  started_at: '',
  answered_at: '',
  ended_at: '',
  duration_seconds: 0n,
  talk_seconds: 0n,
  wait_seconds: 0n,
  revision: 0n,
};
const clock = (seconds: number): string =>
  `${Math.floor(seconds / 60)}:${String(Math.round(seconds) % 60).padStart(2, '0')}`;
const escaped = (text: string): string =>
  text.replace(/[&<>"]/g, (c) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[c]!);
/** Number of the outside party in E.164 if it has that form, else as received; empty if unknown. */
export const numberOf = ({ customer }: Pick<Conversation, 'customer'>): string =>
  customer?.number_e164 ?? customer?.number ?? '';

/** Extensions that talked, each once, in the order in which they left for the last time. */
const talkers = ({ legs }: Conversation): string[] => {
  const talked = legs
    .filter(({ talk_time }) => talk_time > 0)
    .toSorted((a, b) => (a.ended_at < b.ended_at ? -1 : 1))
    .flatMap(({ participant }) => participant.extension ?? []);
  return talked.filter((one, at) => talked.lastIndexOf(one) === at);
};
/** Extension that talked for the longest time; of equal ones the first. */
function longest({ legs }: Conversation): string | undefined {
  const talked = new Map<string, number>();
  for (const { participant, talk_time } of legs)
    if (participant.extension !== null && talk_time > 0)
      talked.set(participant.extension, (talked.get(participant.extension) ?? 0) + talk_time);
  return [...talked].toSorted(([, a], [, b]) => b - a)[0]?.[0];
}
/** Extension that handled the call by the file's rule; if none talked, the last agent, else the first extension. */
export function handledBy(conversation: Conversation, rule: ConnectorEntries['handled_by']): string | null {
  const all = talkers(conversation);
  const chosen = { last: all.at(-1), first: all[0], longest: longest(conversation) }[rule];
  return chosen ?? conversation.agents.at(-1) ?? conversation.extensions[0] ?? null;
}

/**
 * A conversation in the form that expressions of a connector file read. `publicUrl`: address of the console, or empty;
 * `person` finds a person by extension.
 */
export function callOf(
  conversation: Conversation,
  publicUrl: string,
  person: (extension: string) => PersonView | null,
): CallView {
  const { id, disposition, customer, notes, outcome, recordings } = conversation;
  const { started_at, answered_at, ended_at, talk_seconds, wait_time, duration, caller, dialled } =
    conversation;
  const number = numberOf(conversation);
  const url = publicUrl === '' ? '' : `${publicUrl}/history/${encodeURIComponent(id)}`;
  const stored = recordings.some(({ state }) => state === 'stored');
  const [direction, words] = DIRECTIONS[conversation.direction];
  const answered = disposition === 'answered';
  const result = ended[disposition] ?? disposition.replaceAll('_', ' ');
  const title = `${words}, ${result}`;
  const note = notes
    .slice(-MAX_NOTES)
    .map(({ text }) => text)
    .join('\n');
  const from = caller?.number_e164 ?? caller?.number ?? '';
  const to = direction === 'outbound' ? number : (conversation.dialled_e164 ?? dialled);
  const talked = talkers(conversation).map((extension) => {
    const name = person(extension)?.name ?? '';
    return name === '' ? extension : `${name} (${extension})`;
  });
  const lines = [
    title,
    `${started_at.slice(0, 16).replace('T', ' ')} UTC`,
    ...(number === '' ? [] : [`Number: ${number}`]),
    ...(customer === null || customer.name === '' ? [] : [`Name: ${customer.name}`]),
    ...(answered ? [`Talked: ${clock(talk_seconds)}`] : []),
    // In order of time: after a transfer, the last one handled the call.
    ...(talked.length > 0 ? [`With: ${talked.join(', then ')}`] : []),
    ...(outcome === null ? [] : [`Outcome: ${[outcome.code, outcome.text].filter(Boolean).join(', ')}`]),
    ...(note === '' ? [] : [note]),
    ...(stored && url !== '' ? [`Recording: ${url}`] : []),
    `Call ${id}`,
  ];
  const text = lines.join('\n');
  return {
    id,
    direction,
    disposition,
    ending: '',
    answered,
    title,
    text,
    html: text.split('\n').map(escaped).join('<br>'),
    from,
    to,
    number,
    queue: conversation.queues.at(-1) ?? '',
    note,
    result: outcome?.code ?? '',
    recording_url: stored ? url : '',
    url,
    started_at,
    answered_at: answered_at ?? '',
    ended_at: ended_at ?? '',
    duration_seconds: BigInt(Math.round(duration)),
    talk_seconds: BigInt(Math.round(talk_seconds)),
    wait_seconds: BigInt(Math.round(wait_time)),
    revision: BigInt(conversation.revision),
  };
}
