/** The engine's answer to every SIP method, for each kind of sender, on a real engine. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { registerPhone } from '../../../../test/support/phone.ts';
import { freePort } from '../../../../test/support/ports.ts';
import { openMedia } from '../phone/media.ts';
import { header, statusOf, uriOf } from '../phone/message.ts';
import { openTransport, randomTag } from '../phone/transport.ts';
import type { Dialog, SendOptions, SipTransport } from '../phone/transport.ts';
import { PASSWORD, company, inboundRoute, trunk } from '../../../../test/support/rendered-company.ts';
import { startTestEngine } from '../../../../test/support/throwaway-engine.ts';
import type { TestEngine } from '../../../../test/support/throwaway-engine.ts';
import { PATIENCE_MS } from '../../../../test/support/until.ts';

const CARRIER = { host: '127.0.0.2', port: 0 };
let engine: TestEngine;
before(async () => {
  CARRIER.port = await freePort();
  engine = await startTestEngine(
    company({
      trunks: [trunk({ name: 'north', ...CARRIER })],
      inbound_routes: [
        inboundRoute({ name: 'desk', trunk: 'north', to: { kind: 'extension', key: '1002' } }),
      ],
    }),
  );
});
after(async () => {
  await engine?.[Symbol.asyncDispose]();
});

const SENDERS = {
  phone: { username: '1001', password: PASSWORD },
  'web phone': { username: '1001-web', password: PASSWORD },
  trunk: { username: '+4930', password: '', at: CARRIER },
  stranger: { username: 'nobody', password: 'wrong' },
} as const;
type Sender = keyof typeof SENDERS;
const KINDS = Object.keys(SENDERS) as Sender[];
const text = (body: string, type: string): SendOptions => ({ headers: [['content-type', type]], body });
const event = (name: string, expires = '60'): SendOptions => ({
  headers: [
    ['event', name],
    ['expires', expires],
  ],
});
const notified = (name: string): SendOptions => ({
  headers: [
    ['event', name],
    ['subscription-state', 'active'],
  ],
});
type Asked = readonly [method: string, options?: SendOptions];
const open = (sender: Sender): Promise<SipTransport> =>
  openTransport({ server: engine.server, onRequest() {}, ...SENDERS[sender] });
function dialogOf(sender: Sender, to: string): Dialog {
  const at = `${engine.server.host}:${engine.server.port}`;
  const local = `<sip:${SENDERS[sender].username}@${at}>;tag=${randomTag()}`;
  return { callId: randomTag(), local, remote: `<sip:${to}@${at}>`, target: `sip:${to}@${at}`, cseq: 0 };
}
async function ask(sender: Sender, [method, options]: Asked): Promise<number> {
  const transport = await open(sender);
  try {
    const dialog = dialogOf(sender, method === 'REGISTER' ? SENDERS[sender].username : '1002');
    if (method === 'REGISTER') dialog.target = `sip:${engine.server.host}:${engine.server.port}`;
    return statusOf(await transport.send(dialog, method, options).response);
  } finally {
    await transport.close();
  }
}

/**
 * Statuses in the order of `SENDERS`. The engine serves OPTIONS, REGISTER and subscriptions of desk phones, and requests within a
 * call.
 */
const OUTSIDE: readonly (readonly [what: string, asked: Asked, answers: readonly number[]])[] = [
  ['MESSAGE', ['MESSAGE', text('hello', 'text/plain')], [501, 501, 501, 401]],
  ['PUBLISH presence', ['PUBLISH', event('presence')], [489, 489, 489, 401]],
  ['PUBLISH dialog', ['PUBLISH', event('dialog')], [489, 489, 489, 401]],
  ['SUBSCRIBE presence', ['SUBSCRIBE', event('presence')], [200, 603, 603, 401]],
  ['SUBSCRIBE dialog', ['SUBSCRIBE', event('dialog')], [200, 603, 603, 401]],
  ['SUBSCRIBE message-summary', ['SUBSCRIBE', event('message-summary')], [404, 603, 603, 401]],
  ['SUBSCRIBE reg', ['SUBSCRIBE', event('reg')], [489, 603, 603, 401]],
  ['SUBSCRIBE refer', ['SUBSCRIBE', event('refer')], [489, 603, 603, 401]],
  ['SUBSCRIBE conference', ['SUBSCRIBE', event('conference')], [489, 603, 603, 401]],
  ['SUBSCRIBE without event', ['SUBSCRIBE'], [489, 603, 603, 401]],
  ['NOTIFY', ['NOTIFY', notified('message-summary')], [501, 501, 501, 401]],
  ['NOTIFY check-sync', ['NOTIFY', notified('check-sync')], [501, 501, 501, 401]],
  ['INFO', ['INFO', text('Signal=1\r\nDuration=100\r\n', 'application/dtmf-relay')], [501, 501, 501, 401]],
  ['REFER', ['REFER', { headers: [['refer-to', '<sip:1003@127.0.0.1>']] }], [501, 501, 501, 401]],
  ['UPDATE', ['UPDATE'], [501, 501, 501, 401]],
  ['PRACK', ['PRACK', { headers: [['rack', '1 1 INVITE']] }], [501, 501, 501, 401]],
  ['BYE', ['BYE'], [481, 481, 481, 481]],
  ['OPTIONS', ['OPTIONS'], [200, 200, 200, 401]],
  ['REGISTER', ['REGISTER', { headers: [['expires', '60']] }], [200, 200, 404, 401]],
  ['a method of nobody', ['FOO'], [501, 501, 501, 401]],
];
test('conf/methods - outside a call every method the exchange does not serve is refused, whoever asks', async () => {
  const seen = [];
  for (const [what, asked] of OUTSIDE)
    seen.push([what, asked, await Promise.all(KINDS.map((sender) => ask(sender, asked)))]);
  assert.deepEqual(seen, OUTSIDE);
});

/** 408 is the test phone's own, after this time: the engine does not answer the request. Others are answered within 0.1 s. */
const UNANSWERED_MS = 8_000;
const INSIDE: typeof OUTSIDE = [
  ['MESSAGE', ['MESSAGE', text('hello', 'text/plain')], [408]],
  ['INFO of a digit', ['INFO', text('Signal=1\r\nDuration=100\r\n', 'application/dtmf-relay')], [200]],
  ['INFO of no digit', ['INFO', text('Signal=&\r\nDuration=100\r\n', 'application/dtmf-relay')], [500]],
  ['INFO of something else', ['INFO', text('x', 'application/x-odd')], [408]],
  ['INFO of a recording', ['INFO', { headers: [['record', 'on']] }], [200]],
  ['INFO of nothing', ['INFO'], [200]],
  ['PUBLISH', ['PUBLISH', event('presence')], [408]],
  ['SUBSCRIBE', ['SUBSCRIBE', event('reg')], [408]],
  ['NOTIFY', ['NOTIFY', notified('refer')], [408]],
  ['REGISTER', ['REGISTER'], [200]],
  ['OPTIONS', ['OPTIONS'], [200]],
  ['a method of nobody', ['FOO'], [408]],
];
test('conf/methods - in a call too, and the call goes on', async () => {
  const transport = await open('phone');
  const media = await openMedia();
  try {
    const dialog = dialogOf('phone', '600');
    const answer = await transport.send(dialog, 'INVITE', { body: media.sdp() }).response;
    assert.equal(statusOf(answer), 200);
    dialog.remote = header(answer, 'to');
    dialog.target = uriOf(header(answer, 'contact'));
    transport.ack(dialog, dialog.cseq);
    const seen = await Promise.all(
      INSIDE.map(async ([what, [method, options], wanted]) => {
        const patience_ms = wanted.includes(408) ? UNANSWERED_MS : PATIENCE_MS;
        const sent = transport.send(dialog, method, { ...options, patience_ms });
        return [what, [method, ...(options ? [options] : [])], [statusOf(await sent.response)]] as const;
      }),
    );
    assert.deepEqual(seen, INSIDE);
    assert.equal(statusOf(await transport.send(dialog, 'OPTIONS').response), 200);
    assert.equal(statusOf(await transport.send(dialog, 'BYE').response), 200);
  } finally {
    media.close();
    await transport.close();
  }
});

test('conf/methods - 2,000 messages of a phone and of a trunk each leave SIP as quick as it was', async () => {
  for (const sender of ['phone', 'trunk'] as const) {
    const transport = await open(sender);
    const answers = new Map<number, number>();
    let left = 2_000;
    const worker = async (): Promise<void> => {
      while (left-- > 0) {
        const status = statusOf(
          await transport.send(dialogOf(sender, '601'), 'MESSAGE', text('x'.repeat(200), 'text/plain'))
            .response,
        );
        answers.set(status, (answers.get(status) ?? 0) + 1);
      }
    };
    await Promise.all(Array.from({ length: 40 }, worker));
    await transport.close();
    assert.deepEqual([...answers], [[501, 2_000]], sender);
  }
  await using caller = await registerPhone({ server: engine.server, extension: '1003', password: PASSWORD });
  const call = await caller.invite('600');
  await call.answered();
  await call.hangup();
  assert.equal(await ask('phone', ['OPTIONS']), 200);
});
