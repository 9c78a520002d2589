/**
 * Ends the subscriptions of former phones. The engine asks for no password when a phone refreshes one, also where its endpoint is
 * gone, so a former phone would hear the states of others, and who calls them, for ever.
 */
import { z } from 'zod';
import type { Log } from '../../../core/log.ts';
import { bracketed } from '../../../core/networks.ts';
import type { Clock } from '../../../ports/clock.ts';
import { nearHost } from '../phone/media.ts';
import { header, parseMessage, tagOf } from '../phone/message.ts';
import { openTransport } from '../phone/transport.ts';
import type { Dialog, SipTransport } from '../phone/transport.ts';

/** Where the engine stores its subscriptions; a range of keys, which it finds without reading all of its store. */
const FIRST = '/subscription_persistence/';
const ROWS = `from astdb where key < '/subscription_persistence0' and key > `;
const ENDPOINT = `json_extract(value, '$.endpoint')`;
/** Nothing of either ends a text of a query. */
const NAME = /^[A-Za-z0-9_-]{1,64}$/;
const KEY = /^[A-Za-z0-9_/-]{1,120}$/;
/** Rows of one answer, which the engine collects in memory. */
const AT_ONCE = 200;
const ANSWER_MS = 4_000;
/** One less than the largest, so that the one of the request is greater than any that the phone has used. */
const CSEQ = 2 ** 31 - 2;
const ENDED_MS = 2_000;
const LOOK_MS = 100;
/** The last request of the phone, which the engine does not store where it is no UTF-8, and the engine's own tag. */
const Row = z.object({ key: z.string().regex(KEY), packet: z.string().nullable(), tag: z.string() });

export interface FormerSubscriptionsOptions {
  /** SIP address of the engine. */
  readonly sip: { readonly host: string; readonly port: number };
  /** Asks the engine's console. */
  readonly console: (text: string) => Promise<string>;
  readonly clock: Clock;
  readonly log: Log;
}
/** Values of a query's column `v`, which has hexadecimal digits, because phones choose what their requests contain. */
async function select(query: string, { console: ask }: FormerSubscriptionsOptions): Promise<string[]> {
  const text = await ask(`database query "select ${query}"`);
  return [...text.matchAll(/^v +: ([0-9A-F]+) *$/gm)].map(([, hex = '']) =>
    Buffer.from(hex, 'hex').toString(),
  );
}
async function* storedOf(endpoint: string, options: FormerSubscriptionsOptions) {
  const columns = `hex(json_object('key', key, 'packet', json_extract(value, '$.packet'), 'tag', json_extract(value, '$.tag'))) as v`;
  for (let after = FIRST; ;) {
    const of = `${ROWS}'${after}' and ${ENDPOINT} = '${endpoint}' order by key limit ${AT_ONCE}`;
    const rows = (await select(`${columns} ${of}`, options)).map((text) => Row.parse(JSON.parse(text)));
    yield rows;
    if (rows.length < AT_ONCE) return;
    after = rows.at(-1)!.key;
  }
}

/** Ends every subscription of the endpoints that `isFormer` accepts; the log names those of which the engine still has some. */
export async function endSubscriptions(
  isFormer: (endpoint: string) => boolean,
  options: FormerSubscriptionsOptions,
): Promise<void> {
  const all = await select(`distinct hex(${ENDPOINT}) as v ${ROWS}'${FIRST}'`, options);
  const former = all.filter((name) => NAME.test(name) && isFormer(name));
  if (former.length === 0) return;
  const { sip, log } = options;
  const server = { host: nearHost(sip.host), port: sip.port };
  const transport: SipTransport = await openTransport({
    server,
    username: 'offhook',
    password: '',
    onRequest: (notify) => transport.reply(notify, { status: 200, reason: 'OK' }),
  });
  try {
    for (const name of former)
      for await (const rows of storedOf(name, options))
        await Promise.all(rows.map((row) => end(row, server, transport)));
    const left = await stillThere(former, options);
    if (left.length > 0)
      log.warn({ endpoints: left }, 'former phones still have subscriptions at the engine');
  } finally {
    await transport.close();
  }
}
/** Those that the engine's own list has after a moment: a phone may word its request so that it is not found above. */
async function stillThere(
  names: readonly string[],
  { console: ask, clock }: FormerSubscriptionsOptions,
): Promise<readonly string[]> {
  let left = names;
  for (const until = clock.now() + ENDED_MS; ; await clock.sleep(LOOK_MS)) {
    const lists = left.map((name) => ask(`pjsip list subscriptions inbound like ^${name}/`));
    const has = (await Promise.all(lists)).map((list, i) => list.includes(`\n${left[i]}/`));
    left = left.filter((_name, i) => has[i]);
    if (left.length === 0 || clock.now() >= until) return left;
  }
}
/** Asks the engine to end one, as the phone itself could, by a request within its dialog. */
async function end(
  { packet, tag }: z.infer<typeof Row>,
  server: FormerSubscriptionsOptions['sip'],
  transport: SipTransport,
): Promise<void> {
  const request = parseMessage(Buffer.from(packet ?? ''));
  if (request === undefined) return;
  const to = header(request, 'to');
  const dialog: Dialog = {
    callId: header(request, 'call-id'),
    local: header(request, 'from'),
    remote: tagOf(to) === '' ? `${to};tag=${tag}` : to,
    target: `sip:${bracketed(server.host)}:${server.port}`,
    cseq: CSEQ,
  };
  const headers = [
    ['event', header(request, 'event')],
    ['expires', '0'],
  ] as const;
  await transport.send(dialog, 'SUBSCRIBE', { headers, patience_ms: ANSWER_MS }).response;
}
