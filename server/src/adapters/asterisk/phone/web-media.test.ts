/** The doctor's media of a browser against a real engine: ICE, DTLS and SRTP. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import dgram from 'node:dgram';
import { once } from 'node:events';
import { after, before, test } from 'node:test';
import { company } from '../../../../test/support/rendered-company.ts';
import { startTestEngine } from '../../../../test/support/throwaway-engine.ts';
import type { TestEngine } from '../../../../test/support/throwaway-engine.ts';
import { until } from '../../../../test/support/until.ts';
import { DOCTOR_EXTEN, DOCTOR_WEB } from '../conf/call-contexts.ts';
import { DtlsClient, newCertificate } from './dtls.ts';
import { header, statusOf, uriOf } from './message.ts';
import { openTransport, randomTag } from './transport.ts';
import type { Dialog } from './transport.ts';
import { openWebMedia } from './web-media.ts';
import type { WebMedia } from './web-media.ts';

const SECRET = 'secret-of-the-doctor-here';
let engine: TestEngine;
before(async () => {
  engine = await startTestEngine(company({}), { doctor_secret: SECRET });
});
after(async () => {
  await engine?.[Symbol.asyncDispose]();
});

/** Calls the echo over the engine's own WebSocket; `change` alters its answer on the way. */
async function call(
  work: (media: WebMedia) => Promise<void>,
  change: (sdp: string) => string = (sdp) => sdp,
): Promise<void> {
  const media = await openWebMedia('127.0.0.1', Date.now());
  const transport = await openTransport({
    server: engine.server,
    username: DOCTOR_WEB,
    password: SECRET,
    web: `ws://127.0.0.1:${engine.instance.http_port}/ws`,
    onRequest() {},
  });
  const at = `${engine.server.host}:${engine.server.port}`;
  const dialog: Dialog = {
    callId: randomTag(),
    local: `<sip:${DOCTOR_WEB}@${at}>;tag=${randomTag()}`,
    remote: `<sip:${DOCTOR_EXTEN}@${at}>`,
    target: `sip:${DOCTOR_EXTEN}@${at}`,
    cseq: 0,
  };
  try {
    const answer = await transport.send(dialog, 'INVITE', { body: media.sdp() }).response;
    assert.equal(statusOf(answer), 200, answer.start);
    dialog.remote = header(answer, 'to');
    transport.ack(dialog, dialog.cseq);
    dialog.target = uriOf(header(answer, 'contact'));
    media.connect(change(answer.body));
    media.play('tone');
    await work(media);
    await transport.send(dialog, 'BYE').response;
  } finally {
    media.close();
    await transport.close();
  }
}

test('web media - a call over the WebSocket is encrypted and comes back, whatever else arrives at its port', async () => {
  await call(async (media) => {
    const stranger = dgram.createSocket('udp4');
    const port = Number(/^m=audio (\d+)/m.exec(media.sdp())?.[1]);
    // Alerts and other records of DTLS, STUN, RTP and noise.
    const alert = Buffer.from([21, 0xfe, 0xfd, 0, 0, 0, 0, 0, 0, 0, 9, 0, 2, 2, 40]);
    const throwAll = (): void => {
      for (const first of [0, 1, 3, 20, 21, 22, 23, 63, 128, 255])
        stranger.send(Buffer.concat([Buffer.from([first]), randomBytes(60)]), port, '127.0.0.1');
      stranger.send(alert, port, '127.0.0.1');
    };
    throwAll();
    const timer = setInterval(throwAll, 20);
    try {
      await until('the own tone', () => media.counts.heard >= 50, {
        seen: () => ({ stage: media.stage, reason: media.reason, received: media.counts.received }),
      });
      assert.equal(media.stage, 'open');
    } finally {
      clearInterval(timer);
      stranger.close();
      await once(stranger, 'close');
    }
  });
});

test('web media - another certificate than that of the call is refused, and nothing is sent', async () => {
  await call(
    async (media) => {
      await until('the refusal', () => media.stage === 'failed');
      assert.equal(media.reason, 'the certificate does not match the fingerprint of the call');
      assert.equal(media.counts.received, 0);
    },
    (sdp) => sdp.replace(/^(a=fingerprint:sha-256 )\S\S/im, (_, head: string) => `${head}00`),
  );
});

test('dtls - noise and cut records are no keys and no uncaught error', async () => {
  const own = await newCertificate(Date.now());
  assert.match(own.fingerprint, /^(?:[0-9A-F]{2}:){31}[0-9A-F]{2}$/);
  for (let round = 0; round < 500; round += 1) {
    const client = new DtlsClient(own, own.fingerprint, () => {});
    let keys: unknown = null;
    client.keys.then(
      (found) => (keys = found),
      () => undefined,
    );
    client.start();
    const body = randomBytes(round % 80);
    const head = Buffer.from([20 + (round % 4), 0xfe, 0xfd, 0, round % 2, 0, 0, 0, 0, 0, 0, 0, body.length]);
    // A message of each type of the handshake whose head fits.
    if (body.length >= 12 && round % 3 === 0) {
      body.set([[1, 2, 3, 11, 12, 13, 14, 16, 20][round % 9]!, 0, 0, body.length - 12, 0, 0, 0, 0, 0, 0, 0]);
      body[11] = body.length - 12;
    }
    client.receive(Buffer.concat([head, body]));
    client.receive(randomBytes(round % 40));
    await Promise.resolve();
    assert.equal(keys, null);
  }
});
