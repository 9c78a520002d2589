/** P31: setting up a call whose media is relayed by TURN, with its limit: the same call directly. */
import path from 'node:path';
import { openSqliteStore } from '../../server/src/adapters/sqlite/store.ts';
import { waysOf } from '../../server/src/adapters/asterisk/doctor/site-ways.ts';
import { header, statusOf } from '../../server/src/adapters/asterisk/phone/message.ts';
import { openMedia, openWire } from '../../server/src/adapters/asterisk/phone/media.ts';
import type { MediaWire } from '../../server/src/adapters/asterisk/phone/media.ts';
import { openTransport, randomTag } from '../../server/src/adapters/asterisk/phone/transport.ts';
import { openRelay } from '../../server/src/adapters/asterisk/turn/relay.ts';
import { putObjects } from '../../server/src/features/pbx-config/put.ts';
import { freePort, freeRange } from '../../server/test/support/ports.ts';
import { startExchange } from '../exchange.ts';
import { request } from '../http-client.ts';
import { QUICK, ROUNDS, atMost, beyond, figure, interleave, quantilesOf } from '../lib.ts';
import type { Row } from '../lib.ts';
import { PASSWORD, extensionOf } from '../site-data.ts';

const CALLS = QUICK ? 10 : 50;
/** People who call one after the other: TURN counts a relay against the quota of its person for a moment after its end. */
const PEOPLE = 20;
/** The engine's echo. */
const ECHO = '600';
/** Relay ports, more than the calls of a second: the server keeps the port of an ended relay for a second. */
const RELAYS = 400;
const LATE_MS = 5_000;

interface Login {
  readonly sip: {
    readonly turn: { readonly username: string; readonly credential: string } | null;
  };
}
/** Resolves with the first packet that arrives. */
function firstPacket(wire: MediaWire): { readonly wire: MediaWire; readonly came: Promise<void> } {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const late = setTimeout(() => reject(new Error('no media came')), LATE_MS);
  // A call that fails before its first packet reports its own error.
  promise.catch(() => undefined);
  const receive: MediaWire['receive'] = (take) =>
    wire.receive((data) => {
      clearTimeout(late);
      resolve();
      take(data);
    });
  const close = (): void => {
    clearTimeout(late);
    wire.close();
  };
  return { wire: { ...wire, receive, close }, came: promise };
}

export async function p31(): Promise<Row> {
  const [port, from] = [await freePort(), await freeRange(RELAYS)];
  await using site = await startExchange({ extensions: PEOPLE, queues: 0, agentsPerQueue: 0 }, true, {
    async prepare(data) {
      const store = await openSqliteStore(path.join(data, 'offhook.db'));
      await putObjects(store, {
        network: [{ name: 'site', turn_port: port, turn_relay_ports: { from, to: from + RELAYS - 1 } }],
      });
      await store.close();
    },
  });
  const logins: NonNullable<Login['sip']['turn']>[] = [];
  for (let i = 0; i < PEOPLE; i += 1) {
    const answer = await request(`${site.base}/api/mobile/login.php`, {
      method: 'POST',
      json: { username: extensionOf(i), password: PASSWORD },
    });
    const { turn } = (JSON.parse(answer.body) as Login).sip;
    if (turn === null) throw new Error('a login has no TURN server');
    logins.push(turn);
  }
  let next = 0;
  const [ways] = (await waysOf(site.instance)).families;
  if (ways?.turn == null) throw new Error('the site has no TURN server');
  const { sip: server, turn: relayAt } = ways;
  const open: Record<string, () => Promise<MediaWire>> = {
    direct: () => openWire(server.host),
    async turn() {
      const relay = await openRelay(relayAt, logins[next++ % PEOPLE]!, LATE_MS);
      // The engine is at every address of its machine; TURN refuses loopback as a peer.
      return { ...relay, send: (data, to) => relay.send(data, to, relay.host) };
    },
  };
  const extension = extensionOf(0);
  const transport = await openTransport({
    server,
    username: extension,
    password: 'a-long-sip-password-of-0',
    onRequest: (m) => transport.reply(m, { status: 200, reason: 'OK' }),
  });
  try {
    const at = `${server.host}:${server.port}`;
    /** Milliseconds from the start to the first sound. */
    async function call(which: string): Promise<number> {
      const began = performance.now();
      const { wire, came } = firstPacket(await open[which]!());
      const media = await openMedia({ wire });
      try {
        const dialog = {
          callId: randomTag(),
          local: `<sip:${extension}@${at}>;tag=${randomTag()}`,
          remote: `<sip:${ECHO}@${at}>`,
          target: `sip:${ECHO}@${at}`,
          cseq: 0,
        };
        const final = await transport.send(dialog, 'INVITE', { body: media.sdp() }).response;
        if (statusOf(final) !== 200) throw new Error(`the call was answered ${final.start}`);
        dialog.remote = header(final, 'to');
        dialog.target = /<([^>]+)>/.exec(header(final, 'contact'))?.[1] ?? dialog.target;
        transport.ack(dialog, dialog.cseq);
        media.connect(final.body);
        media.play('tone');
        await came;
        const ms = performance.now() - began;
        await transport.send(dialog, 'BYE').response;
        return ms;
      } finally {
        media.close();
      }
    }
    const round = async (which: string): Promise<number[]> => {
      const ms: number[] = [];
      for (let i = 0; i < CALLS; i += 1) ms.push(await call(which));
      return ms;
    };
    for (const which of Object.keys(open)) await call(which);
    const rounds = await interleave(Object.keys(open), ROUNDS, round);
    const of = quantilesOf(rounds);
    const added = beyond(of('turn', 0.5), of('direct', 0.5));
    return {
      id: 'P31',
      title: 'A call set up through TURN, from the start to the first sound',
      figures: [
        figure('through TURN, p50', 'ms', 'ours', of('turn', 0.5)),
        figure('through TURN, p99', 'ms', 'ours', of('turn', 0.99)),
        figure('directly, p50', 'ms', 'limit', of('direct', 0.5)),
        figure('directly, p99', 'ms', 'limit', of('direct', 0.99)),
        figure('added by TURN to each call, p50', 'ms', 'ours', added),
      ],
      gates: [
        atMost('added by TURN to each call, p50', 10, added, ' ms'),
        atMost('through TURN, p99', 250, of('turn', 0.99), ' ms'),
      ],
      notes: [
        'A phone asks the site’s coturn for a relay, calls the echo of the engine, and hears its own first packet. Everything is on one machine: the way between the phone and the servers takes no time here.',
      ],
    };
  } finally {
    await transport.close();
  }
}
