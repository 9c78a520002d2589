/** The address that one side is given for media, read from the session description that it receives. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { farAddress } from '../../../../test/support/far-address.ts';
import { openFarSide, registerPhone } from '../../../../test/support/phone.ts';
import {
  PASSWORD,
  company,
  extension,
  inboundRoute,
  outboundRoute,
  trunk,
} from '../../../../test/support/rendered-company.ts';
import { startTestEngine } from '../../../../test/support/throwaway-engine.ts';
import { mediaAt } from './secure-media.ts';
import type { InstanceSettings } from './instance.ts';

const OF_PHONE = '127.0.0.77';
const OF_TRUNK = '127.0.0.88';

test('conf/media address - the phone and the trunk are given their own in offer and answer, others that of SIP', async () => {
  const at = await farAddress('127.0.0.2');
  await using engine = await startTestEngine(
    company({
      extensions: company().extensions.map((e) =>
        extension(e.extension, {
          voicemail: false,
          media_address: e.extension === '1002' ? OF_PHONE : null,
        }),
      ),
      trunks: [trunk({ name: 'carrier', ...at, media_address: OF_TRUNK })],
      inbound_routes: [
        inboundRoute({ name: 'in', trunk: 'carrier', to: { kind: 'extension', key: '1001' } }),
      ],
      outbound_routes: [
        outboundRoute({ name: 'out', patterns: ['0.'], class: 'national', trunks: [{ trunk: 'carrier' }] }),
      ],
    }),
  );
  const desk = (number: string) =>
    registerPhone({ server: engine.server, extension: number, password: PASSWORD });
  await using one = await desk('1001');
  await using two = await desk('1002');
  await using far = await openFarSide({
    server: engine.server,
    extension: '+4915112345678',
    at,
    cli: engine.cli,
  });
  /** Addresses given to the caller, in the answer, and to the called side, in the offer. */
  const given = async (from: typeof one, number: string, to: typeof one): Promise<string[]> => {
    const call = await from.invite(number);
    const incoming = await to.incoming(call);
    await incoming.answer();
    await call.answered();
    const peers = [call.media.peer, incoming.media.peer];
    await call.hangup();
    await incoming.ended();
    return peers;
  };
  const own = engine.server.host;
  assert.deepEqual(await given(one, '1002', two), [own, OF_PHONE]);
  assert.deepEqual(await given(two, '1001', one), [OF_PHONE, own]);
  assert.deepEqual(await given(one, '0301234', far), [own, OF_TRUNK]);
  assert.deepEqual(await given(far, '+4930', one), [OF_TRUNK, own]);
});

test('conf/media address - media is bound to an address only where this machine has it', () => {
  const lines = (own_addresses: readonly string[]): string =>
    String(mediaAt(OF_PHONE, { own_addresses } as unknown as InstanceSettings, 'a phone'));
  assert.equal(lines(['192.0.2.1']), `media_address = ${OF_PHONE}\n`);
  assert.equal(lines([OF_PHONE]), `media_address = ${OF_PHONE}\nbind_rtp_to_media_address = yes\n`);
});
