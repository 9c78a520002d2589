import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import fc from 'fast-check';
import { nodeId } from '@offhook/contract/ids.ts';
import { CEL_FIELDS } from '../conf/cel-format.ts';
import type { CelField } from '../conf/cel-format.ts';
import { decodeRecord, salvage } from './decode.ts';
import { RECORD_LIMIT, splitRecords } from './split.ts';
import type { RawRecord } from './split.ts';

const node = nodeId('ast1');
const quoted = (value: string): string => `"${value.replaceAll('"', '""')}"`;
/** A record as the engine writes it. */
function line(fields: Partial<Record<CelField, string>> = {}): string {
  const all: Partial<Record<CelField, string>> = {
    eventenum: 'ANSWER',
    eventtime: '1795226931.000042',
    channame: 'PJSIP/1001-web-0000001f',
    uniqueid: '1795226931.5',
    linkedid: '1795226931.4',
    num: '1001',
    ...fields,
  };
  return CEL_FIELDS.map((field) => quoted(all[field] ?? '')).join(',');
}
const decoded = (text: string | Buffer) => decodeRecord(node, Buffer.from(text));
const wholeOf = (bytes: Buffer): readonly string[] =>
  splitRecords(bytes, true)
    .records.filter((r) => r.whole)
    .map((r) => r.bytes.toString());
const recording = readFileSync(
  new URL('../../../features/history/fixtures/internal-answered.cel', import.meta.url),
);

test('call records - a record in our words', () => {
  const record = decoded(
    line({
      eventenum: 'BRIDGE_ENTER',
      name: 'Zoë "Z", Ünal\n🙂',
      exten: '1002',
      appname: 'Queue',
      appdata: 'support,C,,,60',
      eventextra: '{"bridge_id":"b-1","bridge_technology":"holding_bridge"}',
    }),
  );
  assert.ok(typeof record === 'object');
  const { key, ...rest } = record;
  assert.match(key, /^[\w-]{24}$/);
  assert.deepEqual(rest, {
    type: 'bridge_enter',
    name: '',
    at_us: 1_795_226_931_000_042,
    channel: 'ast1:1795226931.5',
    call: 'ast1:1795226931.4',
    channel_name: 'PJSIP/1001-web-0000001f',
    endpoint: '1001-web',
    pair: null,
    caller_number: '1001',
    caller_name: 'Zoë "Z", Ünal\n🙂',
    dialled: '1002',
    context: '',
    app: 'queue',
    app_data: 'support,C,,,60',
    peer: '',
    facts: { bridge: 'ast1:b-1', holding: true, queue: 'support' },
  });
});

test('call records - the number of a SIP channel among the SIP channels, as it starts', () => {
  const serial = (channame: string, eventenum = 'CHAN_START') => {
    const record = decoded(line({ eventenum, channame }));
    assert.ok(typeof record === 'object');
    return record.sip_serial;
  };
  assert.equal(serial('PJSIP/1001-web-0000001f'), 31);
  assert.equal(serial('PJSIP/trunk-a-ffffffff'), 4_294_967_295);
  assert.equal(serial('Local/1003@queue-agent-00000003;1'), null);
  assert.equal(serial('PJSIP/1001-0000001f<ZOMBIE>'), null);
  assert.equal(serial('PJSIP/1001-web-0000001f', 'ANSWER'), undefined, 'a masquerade exchanges names');
});

test('call records - why a caller left a queue, in our words; a word of nobody says nothing', () => {
  const left = (extra: string, userdeftype = 'OFFHOOK_QUEUE_LEFT') => {
    const record = decoded(
      line({ eventenum: 'USER_DEFINED', userdeftype, eventextra: JSON.stringify({ extra }) }),
    );
    assert.ok(typeof record === 'object');
    return [record.name, record.facts.queue_status];
  };
  assert.deepEqual(left('TIMEOUT'), ['OFFHOOK_QUEUE_LEFT', 'timeout']);
  assert.deepEqual(left('JOINEMPTY'), ['OFFHOOK_QUEUE_LEFT', 'empty_join']);
  assert.deepEqual(left('__proto__'), ['OFFHOOK_QUEUE_LEFT', undefined]);
  assert.deepEqual(left('TIMEOUT', 'MINE'), ['MINE', undefined]);
});

test('call records - whose PIN was guessed too often; a text of nobody says nothing', () => {
  const guessed = (extra: string) => {
    const record = decoded(
      line({
        eventenum: 'USER_DEFINED',
        userdeftype: 'OFFHOOK_PINS_REFUSED',
        eventextra: JSON.stringify({ extra }),
      }),
    );
    assert.ok(typeof record === 'object');
    return record.facts.pins_refused;
  };
  assert.deepEqual(guessed('room-board-2-outside'), { kind: 'conference', key: 'board-2', extension: null });
  assert.deepEqual(guessed('box-4000-1001'), { kind: 'mailbox', key: '4000', extension: '1001' });
  for (const text of ['box-4000', 'desk_1', 'room-Board-1001', 'room-board-1001-'])
    assert.equal(guessed(text), undefined);
});

test('call records - what the dialplan records: by whose rule, of which channel, and the name of the file', () => {
  const begun = (extra: string, userdeftype = 'OFFHOOK_RECORDING') => {
    const record = decoded(
      line({ eventenum: 'USER_DEFINED', userdeftype, eventextra: JSON.stringify({ extra }) }),
    );
    assert.ok(typeof record === 'object');
    return record.facts.recording;
  };
  assert.deepEqual(begun('queue:support:1795287986.10-1795287990.wav'), {
    by: 'queue',
    of: 'support',
    file: '1795287986.10-1795287990.wav',
    channel: 'ast1:1795287986.10',
  });
  assert.equal(begun('extension:1003:a-1.b-1.wav')?.channel, 'ast1:a-1.b');
  const named = begun('extension:1003:1795287986.10-1795287990-b2.wav');
  assert.deepEqual([named?.channel, named?.file], ['ast1:1795287986.10', '1795287986.10-1795287990-b2.wav']);
  for (const extra of [
    'person:1003:x-1.wav',
    'queue:support:../x-1.wav',
    'queue::x-1.wav',
    'queue:support:x.wav',
    'queue:support:',
    'x',
    '',
  ])
    assert.equal(begun(extra), undefined, extra);
  assert.equal(begun('queue:support:x-1.wav', 'MINE'), undefined);
});

test('call records - halves of an internal pair share a key and have no endpoint', () => {
  const halves = [';1', ';2'].map((half) =>
    decoded(line({ channame: `Local/1003@queue-agent-0000000c${half}` })),
  );
  for (const half of halves) {
    assert.ok(typeof half === 'object');
    assert.equal(half.endpoint, null);
    assert.equal(half.pair, 'Local/1003@queue-agent-0000000c');
  }
});

test('call records - transfers, pickups and hang-ups name the other side', () => {
  const facts = (eventenum: string, extra: object) => {
    const record = decoded(line({ eventenum, eventextra: JSON.stringify(extra) }));
    assert.ok(typeof record === 'object', eventenum);
    return record.facts;
  };
  assert.deepEqual(facts('BLINDTRANSFER', { extension: '1003', transferee_channel_uniqueid: '9.1' }), {
    target: '1003',
    other: 'ast1:9.1',
  });
  assert.deepEqual(facts('PICKUP', { pickup_channel_uniqueid: '9.2' }), { other: 'ast1:9.2' });
  assert.deepEqual(facts('PARK_END', { reason: 'ParkedCallUnparked', retriever: 'PJSIP/1003-00000008' }), {
    other_name: 'PJSIP/1003-00000008',
  });
  assert.deepEqual(facts('HANGUP', { hangupcause: 17, hangupsource: 'PJSIP/1002-1', dialstatus: '' }), {
    cause: 17,
    source: 'PJSIP/1002-1',
  });
});

test('call records - Latin-1 names are read, every value is kept as it is', () => {
  const latin = decodeRecord(node, Buffer.from(line({ name: 'Müller' }), 'latin1'));
  assert.ok(typeof latin === 'object');
  assert.equal(latin.caller_name, 'Müller');
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', maxLength: 60 }), (name) => {
      const bytes = Buffer.from(`${line({ name })}\n`);
      const [raw, ...others] = splitRecords(bytes).records;
      assert.equal(others.length, 0);
      const record = decodeRecord(node, raw!.bytes);
      assert.ok(typeof record === 'object');
      assert.equal(record.caller_name, name);
    }),
  );
});

test('call records - a caller cannot forge a record with its name', () => {
  const forged = line({ eventenum: 'HANGUP', num: '6666' });
  for (const name of [`\n${forged}\n`, `"\n${forged}`, `",\n${forged}\n"`, `x","y\n${forged}`, forged]) {
    const bytes = Buffer.from(`${line({ name })}\n${line({ num: '1002' })}\n`);
    const records = splitRecords(bytes).records.map((r) => decodeRecord(node, r.bytes));
    assert.deepEqual(
      records.map((r) => (typeof r === 'object' ? [r.type, r.caller_number] : r)),
      [
        ['answer', '1001'],
        ['answer', '1002'],
      ],
      JSON.stringify(name),
    );
    // Nor when its record is cut short, so that the rest of it is looked through.
    const own = Buffer.from(line({ name }));
    for (let cut = 1; cut <= own.length; cut += 1) assert.equal(salvage(own.subarray(0, cut)), null);
  }
});

test('call records - what is no record is malformed, what says nothing about a call is ignored', () => {
  const first = line();
  const malformed = [
    first.slice(0, -3),
    first.slice(1),
    `${first},"more"`,
    first.replace('"ANSWER"', 'ANSWER'),
    first.replace('1795226931.000042', 'yesterday'),
    // Beyond 2^53 microseconds: a database that has stored it cannot be read any more.
    first.replace('1795226931.000042', '9007199254.740992'),
    first.replace('1795226931.000042', '9999999999.000000'),
    line({ uniqueid: '' }),
    line({ eventenum: 'HANGUP', eventextra: '{broken' }),
    '',
    'free text',
  ];
  for (const text of malformed) assert.equal(decoded(text), 'malformed', text);
  assert.equal(decoded(line({ eventenum: 'STREAM_BEGIN', userdeftype: 'FILE_STREAM_BEGIN' })), 'ignored');
  assert.equal(decoded(line({ eventenum: 'SOMETHING_NEW' })), 'ignored');
  for (const word of ['constructor', '__proto__', 'STREAM_X']) {
    assert.ok(typeof decoded(line({ eventenum: word, userdeftype: 'constructor' })) === 'string', word);
  }
  assert.equal(decoded(line({ uniqueid: 'health-0a-1795226931.1' })), 'ast1:health-0a-1795226931.1');
  const pair = { uniqueid: 'health-0a-1795226931.1', channame: 'Local/s@health-00000001;1' };
  assert.equal(decoded(line(pair)), 'ignored');
  const doctor = { uniqueid: '1795226931.000042', channame: 'PJSIP/doctor-00000001' };
  assert.equal(decoded(line(doctor)), 'ast1:1795226931.000042');
});

test('call records - bytes cut anywhere give the same records', () => {
  const expected = wholeOf(recording);
  assert.equal(expected.length, 15);
  for (let at = 0; at <= recording.length; at += 1) {
    const first = splitRecords(recording.subarray(0, at));
    const rest = splitRecords(recording.subarray(first.consumed));
    const records = [...first.records, ...rest.records];
    assert.ok(
      records.every((r) => r.whole),
      `cut at ${at}`,
    );
    assert.equal(records.length, expected.length, `cut at ${at}`);
    assert.equal(first.consumed + rest.consumed, recording.length);
  }
});

test('call records - a record with line ends in a value waits until it is whole', () => {
  const bytes = Buffer.from(`${line({ name: 'one\ntwo\n\n"three"\n' })}\n${line()}\n`);
  for (let at = 0; at <= bytes.length; at += 1) {
    const first = splitRecords(bytes.subarray(0, at));
    const rest = splitRecords(bytes.subarray(first.consumed));
    const records = [...first.records, ...rest.records];
    assert.deepEqual(
      records.map((r) => r.whole && typeof decodeRecord(node, r.bytes)),
      ['object', 'object'],
      `cut at ${at}`,
    );
  }
});

test('call records - a write that was cut short costs its own record only', () => {
  const [a, b, c] = [line({ num: '1' }), line({ num: '2', name: 'x\ny' }), line({ num: '3' })];
  for (let cut = 1; cut < b.length - 1; cut += 1) {
    // The next write follows on the same line after a crash, and on a new one after a full disk.
    for (const glue of ['', '\n']) {
      const bytes = Buffer.from(`${a}\n${b.slice(0, cut)}${glue}${c}\n${a}\n`);
      const numbers = splitRecords(bytes, true).records.flatMap((raw: RawRecord) => {
        const record = raw.whole ? decodeRecord(node, raw.bytes) : 'malformed';
        const found = typeof record === 'object' ? raw.bytes : salvage(raw.bytes);
        const decodedAgain = found && decodeRecord(node, found);
        return decodedAgain && typeof decodedAgain === 'object' ? [decodedAgain.caller_number] : [];
      });
      assert.deepEqual(numbers, ['1', '3', '1'], `cut at ${cut}: ${JSON.stringify(b.slice(0, cut) + glue)}`);
    }
  }
});

test('call records - a record without an end takes bounded memory and the next ones are read', () => {
  const endless = Buffer.concat([Buffer.from('"ANSWER","'), Buffer.alloc(3 * RECORD_LIMIT, 'x')]);
  const { records, consumed } = splitRecords(endless);
  assert.equal(consumed, endless.length);
  assert.deepEqual(
    records.map((r) => [r.whole, r.bytes.length]),
    [[false, RECORD_LIMIT]],
  );
  const after = Buffer.concat([endless, Buffer.from(`\n${line()}\n`)]);
  assert.deepEqual(wholeOf(after), [line()]);
});

test('call records - the key is of the record and its node, not of its place', () => {
  const keys = [
    decoded(line()),
    decoded(line()),
    decodeRecord(nodeId('ast2'), Buffer.from(line())),
    decoded(line({ num: '2' })),
  ];
  const [a, b, c, d] = keys.map((r) => (typeof r === 'object' ? r.key : r));
  assert.equal(a, b);
  assert.equal(new Set([a, c, d]).size, 3);
});
