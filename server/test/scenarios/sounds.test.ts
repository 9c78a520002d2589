import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdir, readdir, stat, writeFile } from 'node:fs/promises';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { describe, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { createClient } from '@offhook/client';
import { AuditPage } from '@offhook/contract/audit.ts';
import { Problem } from '@offhook/contract/errors.ts';
import { SoundsReply, UploadedSound } from '@offhook/contract/sounds.ts';
import { obtainPackages } from '../../src/adapters/asterisk/provision/packages.ts';
import { soundPath } from '../../src/adapters/asterisk/conf/sounds.ts';
import { loadInstance } from '../../src/adapters/asterisk/process/instance-file.ts';
import { putObjects } from '../../src/features/pbx-config/put.ts';
import type { Objects } from '../../src/features/pbx-config/put.ts';
import { zipOf } from '../support/archives.ts';
import { encoded, levelOf, wav } from '../support/sound-samples.ts';
import { prepareDemo } from '../support/company.ts';
import type { PhoneCall } from '../support/phone.ts';
import type { Site } from '../support/site.ts';
import { PATIENCE_MS, until } from '../support/until.ts';
import { useSite } from '../support/use-site.ts';

const CACHE = process.env['OFFHOOK_CACHE'] ?? path.join(os.homedir(), '.cache', 'offhook');
const RATE = 8000;
const ADMIN = '1001';

async function request(site: Site, to: string, init: RequestInit = {}, who = ADMIN): Promise<Response> {
  const { token } = await site.person(who);
  return fetch(`${site.base}/api/v1/config/sounds${to}`, {
    ...init,
    headers: { authorization: `Bearer ${token}`, ...(init.headers as Record<string, string>) },
    signal: AbortSignal.timeout(PATIENCE_MS),
  });
}
const upload = (site: Site, body: Buffer, query = '', type = 'audio/wav', who = ADMIN) =>
  request(
    site,
    query,
    { method: 'POST', headers: { 'content-type': type }, body: new Uint8Array(body) },
    who,
  );
async function uploaded(site: Site, body: Buffer, query = '') {
  const response = await upload(site, body, query);
  assert.equal(response.status, 201, await response.clone().text());
  return UploadedSound.parse(await response.json());
}
const refusedWith = async (response: Response): Promise<string> => {
  const { code, status } = Problem.parse(await response.json());
  assert.equal(status, response.status);
  return `${status} ${code}`;
};
/** Resolves once the phone's last audio is almost only this tone. */
const hearsTone = (call: PhoneCall, hz: number) =>
  until(`a tone of ${hz} Hz`, () => {
    const heard = call.media.sound.slice(-2_000);
    const rms = Math.hypot(...heard) / Math.sqrt(heard.length) / 32_768;
    return heard.length === 2_000 && levelOf(heard, hz, RATE) > 0.9 * Math.SQRT2 * rms && rms > 0.1;
  });
/** Numbers and music of a test, in addition to the rendered ones. */
async function playing(site: Site, dialplan: string, music: string): Promise<void> {
  const custom = path.join(site.dataDir, 'engine/etc/custom');
  await mkdir(custom, { recursive: true });
  await writeFile(path.join(custom, 'extensions.conf'), `[internal]\n${dialplan}`);
  await writeFile(path.join(custom, 'musiconhold.conf'), music);
  await site.engineCli('moh reload');
  await site.engineCli('dialplan reload');
}

/** Mono with 16 bit and 16 kHz is stored unchanged, so that its id is known before the upload. */
const GREETING = wav({ hz: 900, seconds: 20 });
const WAITING = wav({ hz: 1_800, seconds: 20 });
const idOf = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');
const OBJECTS: Objects = {
  prompt: [
    { name: 'greeting', title: 'Greeting', sound: idOf(GREETING) },
    { name: 'waiting', title: 'Waiting', sound: idOf(WAITING) },
  ],
  music_class: [{ name: 'ours', title: 'Ours', prompts: ['waiting'] }],
  menu: [
    {
      name: 'front',
      number: '7100',
      title: 'Front',
      greeting: { prompt: 'greeting' },
      otherwise: { kind: 'hang_up', play: null },
    },
  ],
  queue: [{ name: 'patient', number: '7200', title: 'Patient', music_class: 'ours', join_when_empty: true }],
};

describe('sounds', () => {
  const site = useSite({ prepare: prepareDemo((store) => putObjects(store, OBJECTS)) });
  const pathOf = (sound: string): string => soundPath(loadInstance(site().dataDir)!, sound);

  test('a menu greets with the uploaded prompt and a queue plays the uploaded music; both are in use', async () => {
    await using phone = await site().phone('1003');
    for (const [number, bytes, query, hz] of [
      ['7100', GREETING, '', 900],
      ['7200', WAITING, '?kind=music_class', 1_800],
    ] as const) {
      const { sound } = await uploaded(site(), bytes, query);
      assert.equal(sound, idOf(bytes));
      const call = await phone.invite(number);
      await call.answered();
      await hearsTone(call, hz);
      await call.hangup();
      assert.equal(await refusedWith(await request(site(), `/${sound}`, { method: 'DELETE' })), '409 in_use');
      const { sounds } = SoundsReply.parse(await (await request(site(), '')).json());
      const { used, expires_at } = sounds.find((s) => s.sound === sound)!;
      assert.deepEqual([used, expires_at], [true, null]);
    }
  });

  test('a prompt needs an existing sound; a sound named by the draft stays', async () => {
    const body = wav({ hz: 440 });
    const { token } = await site().person(ADMIN);
    const make = () =>
      fetch(`${site().base}/api/v1/config/prompts`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ name: 'later', title: 'Later', sound: idOf(body) }),
      });
    assert.match(await refusedWith(await make()), /invalid_configuration/);
    const { sound } = await uploaded(site(), body);
    const made = await make();
    assert.equal(made.status, 201, await made.text());
    assert.equal(await refusedWith(await request(site(), `/${sound}`, { method: 'DELETE' })), '409 in_use');
  });

  test('uploaded prompts of a language are heard after the plan has named what is missing', async () => {
    const sdk = createClient({ base: site().base, token: (await site().person(ADMIN)).token });
    const send = (method: string, to: string, body: string | Uint8Array<ArrayBuffer>, type: string) =>
      request(site(), to, { method, body, headers: { 'content-type': type } });
    await uploaded(site(), GREETING);
    await uploaded(site(), WAITING, '?kind=music_class');
    const patched = await send('PATCH', '/../extensions/1004', '{"language":"tr"}', 'application/json');
    assert.equal(patched.status, 200, await patched.text());
    const lacking = await sdk.config.plan();
    assert.deepEqual(
      lacking.findings.map(({ object, words }) => `${object}: ${words}`),
      ['language tr: there are no sounds for this language; upload them first'],
    );
    const one = await send(
      'POST',
      '/../languages/tr?prompt=demo-echotest',
      new Uint8Array(wav({ rate: 44_100, hz: 1_100, seconds: 20, channels: 2 })),
      'audio/wav',
    );
    assert.equal(one.status, 201, await one.text());
    const zip = zipOf([{ name: 'tr/vm-goodbye.wav', bytes: wav({ rate: 8_000 }) }]);
    const set = await send('POST', '/../languages/tr', new Uint8Array(zip), 'application/octet-stream');
    assert.deepEqual(await set.json(), { success: true, prompts: 1, ignored: 0 });
    const { findings, notices, draft } = await sdk.config.plan();
    assert.deepEqual(findings, []);
    assert.match(notices[0]?.words ?? '', /^\d+ prompts are heard in English: .*beep/);
    assert.doesNotMatch(notices[0]?.words ?? '', /demo-echotest|vm-goodbye/);
    const { apply } = await sdk.config.apply({ draft });
    await until('the apply', async () => (await sdk.config.applyState(apply.id)).apply.state === 'applied');
    await using phone = await site().phone('1004');
    const call = await phone.invite('600');
    await call.answered();
    await hearsTone(call, 1_100);
    await call.hangup();
    const { languages } = await sdk.sounds.languages();
    const turkish = languages.find(({ language }) => language === 'tr');
    assert.deepEqual([turkish?.uploaded, turkish?.prompts, turkish?.used], [true, 2, true]);
    assert.ok(turkish?.missing.includes('beep') && !turkish.missing.includes('vm-goodbye'));
    assert.equal(
      await refusedWith(await request(site(), '/../languages/tr', { method: 'DELETE' })),
      '409 in_use',
    );
  });

  test('a phone hears the uploaded prompt in any format, and the uploaded music', async () => {
    const prompt = await uploaded(site(), wav({ rate: 44_100, hz: 700, seconds: 20, channels: 2 }));
    const music = await uploaded(site(), wav({ rate: 8_000, hz: 1_500, seconds: 20 }), '?kind=music_class');
    assert.deepEqual(
      [prompt.seconds, prompt.sample_rate, prompt.format, prompt.bytes],
      [20, 44_100, 'wav', 640_044],
    );
    await playing(
      site(),
      `exten => 7001,1,Answer()\n same => n,Playback(${pathOf(prompt.sound)})\n` +
        'exten => 7002,1,Answer()\n same => n,MusicOnHold(ours)\n',
      `[ours]\nmode = playlist\nentry = ${pathOf(music.sound)}\n`,
    );
    await using phone = await site().phone('1003');
    for (const [number, hz] of [
      ['7001', 700],
      ['7002', 1_500],
    ] as const) {
      const call = await phone.invite(number);
      await call.answered();
      await hearsTone(call, hz);
      await call.hangup();
    }
  });

  test('a phone hears a text that was spoken once; the same text is the same sound', async () => {
    await obtainPackages({ cache: CACHE, packages: ['espeak-ng'] });
    const sdk = createClient({ base: site().base, token: (await site().person(ADMIN)).token });
    const text = 'Hoş geldiniz. Lütfen bekleyin. '.repeat(8);
    const made = await sdk.sounds.speak({ text, language: 'tr' });
    assert.equal((await sdk.sounds.speak({ text, language: 'tr', voice: 'female' })).sound, made.sound);
    assert.ok(made.seconds > 10, `${made.seconds} s`);
    await assert.rejects(sdk.sounds.speak({ text, language: 'xx' }), { code: 'invalid_request' });
    await playing(site(), `exten => 7001,1,Answer()\n same => n,Playback(${pathOf(made.sound)})\n`, '');
    await using phone = await site().phone('1003');
    const call = await phone.invite('7001');
    await call.answered();
    await until('speech', () => {
      const heard = call.media.sound.slice(-2_000);
      return heard.length === 2_000 && Math.hypot(...heard) / Math.sqrt(heard.length) / 32_768 > 0.02;
    });
    await call.hangup();
  });

  test('changed music continues for present listeners, and is new for later ones', async () => {
    const [old, fresh] = [
      await uploaded(site(), wav({ hz: 600, seconds: 30 })),
      await uploaded(site(), wav({ hz: 1_200, seconds: 30 })),
    ];
    const numbers = 'exten => 7002,1,Answer()\n same => n,MusicOnHold(ours)\n';
    await playing(site(), numbers, `[ours]\nmode = playlist\nentry = ${pathOf(old.sound)}\n`);
    await using phone = await site().phone('1003');
    const first = await phone.invite('7002');
    await hearsTone(first, 600);
    await playing(site(), numbers, `[ours]\nmode = playlist\nentry = ${pathOf(fresh.sound)}\n`);
    const second = await phone.invite('7002');
    await hearsTone(second, 1_200);
    const before = first.media.received;
    await first.hears(first.media.heard + 50);
    assert.ok(first.media.received > before);
    await hearsTone(first, 600);
    const gone = await request(site(), `/${old.sound}`, { method: 'DELETE' });
    assert.equal(gone.status, 200);
    await first.hears(first.media.heard + 50);
    await hearsTone(first, 600);
  });

  test('storage: one file for equal sounds, readable by owner and group; listed, played in parts, deleted', async () => {
    const body = wav({ hz: 333 });
    const { sound, bytes } = await uploaded(site(), body);
    assert.deepEqual((await uploaded(site(), body)).sound, sound);
    const folder = path.join(site().dataDir, 'sounds');
    const { mode, size } = await stat(path.join(folder, `${sound}.wav16`));
    assert.deepEqual([mode & 0o777, size], [0o640, bytes]);
    assert.deepEqual(await readdir(path.join(folder, 'incoming')), []);

    const list = SoundsReply.parse(await (await request(site(), '')).json());
    const listed = list.sounds.find((s) => s.sound === sound);
    assert.equal(listed?.used, false);
    assert.equal(listed.seconds, 0.5);
    for (const name of ['vm-goodbye', 'digits/1']) assert.ok(list.built_in.includes(name), name);

    const sdk = createClient({ base: site().base, token: (await site().person(ADMIN)).token });
    assert.equal((await sdk.uploadSound(new Blob([new Uint8Array(body)]), { kind: 'prompt' })).sound, sound);
    assert.equal((await (await sdk.soundFile(sound)).arrayBuffer()).byteLength, bytes);
    const again = (await sdk.sounds.list()).sounds.find((s) => s.sound === sound)!;
    assert.ok(again.expires_at! > listed.expires_at!, 'seven days from when it was wanted last');

    const whole = await request(site(), `/${sound}`);
    assert.equal(whole.headers.get('content-type'), 'audio/wav');
    assert.deepEqual(Buffer.from(await whole.arrayBuffer()).subarray(44), body.subarray(44));
    const part = await request(site(), `/${sound}`, { headers: { range: 'bytes=0-3' } });
    assert.deepEqual([part.status, await part.text()], [206, 'RIFF']);
    const beyond = await request(site(), `/${sound}`, { headers: { range: `bytes=${bytes}-` } });
    assert.equal(await refusedWith(beyond), '416 range_not_satisfiable');

    assert.equal((await request(site(), `/${sound}`, { method: 'DELETE' })).status, 200);
    assert.equal(await refusedWith(await request(site(), `/${sound}`)), '404 not_found');
    assert.equal(
      await refusedWith(await request(site(), `/${sound}`, { method: 'DELETE' })),
      '404 not_found',
    );
    const { token } = await site().person(ADMIN);
    const audit = await fetch(`${site().base}/api/v1/audit?limit=50`, {
      headers: { authorization: `Bearer ${token}` },
    });
    const lines = AuditPage.parse(await audit.json()).entries.filter((e) => e.object === sound);
    assert.deepEqual(lines.map((e) => `${e.action} ${e.outcome}`).toSorted(), [
      'sounds.remove ok',
      'sounds.upload ok',
      'sounds.upload ok',
      'sounds.upload ok',
    ]);
  });

  test('refused by content, size, length, type or level', async () => {
    const text = Buffer.from('#!/bin/sh\necho not a sound\n');
    const big = Buffer.alloc(20 * 1024 * 1024 + 1);
    const long = wav({ rate: 8_000, seconds: 601, kind: 'pcm8' });
    assert.equal(await refusedWith(await upload(site(), text)), '415 not_audio');
    assert.equal(await refusedWith(await upload(site(), Buffer.alloc(0))), '415 not_audio');
    assert.equal(await refusedWith(await upload(site(), big)), '413 sound_too_large');
    assert.equal(await refusedWith(await upload(site(), long)), '413 sound_too_long');
    assert.equal((await uploaded(site(), long, '?kind=music_class')).seconds, 601);
    assert.equal(await refusedWith(await upload(site(), wav(), '?kind=ringtone')), '400 invalid_request');
    assert.equal(
      await refusedWith(await upload(site(), wav(), '', 'application/json')),
      '415 unsupported_media_type',
    );
    assert.equal(await refusedWith(await upload(site(), wav(), '', 'audio/wav', '1003')), '403 forbidden');
    assert.equal(await refusedWith(await request(site(), '/../credentials')), '404 not_found');
    assert.equal(await refusedWith(await request(site(), `/${'A'.repeat(64)}`)), '400 invalid_request');
    const { token } = await site().person(ADMIN);
    const elsewhere = await fetch(`${site().base}/api/v1/calls`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'audio/wav' },
      body: new Uint8Array(wav()),
    });
    assert.equal(await refusedWith(elsewhere), '415 unsupported_media_type');
    const left = http.request(`${site().base}/api/v1/config/sounds`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'audio/wav', 'content-length': '20000' },
    });
    left.on('error', () => {});
    left.write(wav().subarray(0, 1_000));
    const incoming = () => readdir(path.join(site().dataDir, 'sounds/incoming'));
    await until('the upload', async () => (await incoming()).length === 1);
    left.destroy();
    await until('its end', async () => (await incoming()).length === 0);
    // Without a Content-Length, the limit applies while reading.
    let left_mib = 64;
    const chunked = new ReadableStream({
      async pull(controller) {
        // `fetch` keeps a copy of a body; without an end and a turn between its parts, it could fill the memory and nothing else ran.
        await setImmediate();
        left_mib -= 1;
        if (left_mib < 0) controller.close();
        else controller.enqueue(new Uint8Array(1024 * 1024));
      },
    });
    const streamed = await fetch(`${site().base}/api/v1/config/sounds`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/octet-stream' },
      body: chunked,
      duplex: 'half',
    } as RequestInit).then(refusedWith, () => 'cut off');
    assert.ok(['413 sound_too_large', 'cut off'].includes(streamed), streamed);
    await until('nothing to be left of it', async () => (await incoming()).length === 0);
  });

  test('every format is converted to the same', async () => {
    for (const [file, format] of [
      ['tone.mp3', 'mp3'],
      ['tone.flac', 'flac'],
      ['tone-opus.ogg', 'ogg_opus'],
      ['tone-vorbis.ogg', 'ogg_vorbis'],
    ] as const) {
      const response = await upload(site(), encoded(file), '', 'application/octet-stream');
      const reply = UploadedSound.parse(await response.json());
      assert.equal(reply.format, format);
      assert.ok(Math.abs(reply.seconds - 0.5) < 0.1, `${file}: ${reply.seconds} s`);
    }
  });
});
