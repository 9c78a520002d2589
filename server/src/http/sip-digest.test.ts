import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { digestAnswer } from '../adapters/asterisk/phone/digest.ts';
import { NO_RESPONSE, answerOf, proofsOf, withResponses } from './sip-digest.ts';

const URI = 'sip:pbx.example.com';
const answer = (
  password: string,
  challenge = 'Digest realm="offhook",nonce="1/a,b=c",qop="auth",opaque="x"',
) => digestAnswer(challenge, { method: 'REGISTER', uri: URI, username: '1008-web', password });
const request = (...headers: string[]): string =>
  [
    `REGISTER ${URI} SIP/2.0`,
    'Via: SIP/2.0/WS x',
    ...headers,
    'Content-Length: 0',
    '',
    'response="body"',
  ].join('\r\n');

test('sip digest - a proof is known by its password, with and without qop, however the header is written', () => {
  for (const header of [
    `Authorization: ${answer('right')}`,
    `AUTHORIZATION :\t${answer('right')}`,
    `authorization:${answer('right').replaceAll(', ', ',\r\n ')}`,
    `Proxy-Authorization: ${answer('right', 'Digest realm="offhook",nonce="n"')}`,
    `Authorization: ${answer('right').replace('Digest', 'DIGEST').replace('algorithm=MD5', 'algorithm="md5"')}`,
  ]) {
    const text = request(header);
    const [proof, ...others] = proofsOf(text) ?? [];
    assert.ok(proof, header);
    assert.equal(others.length, 0);
    assert.equal(proof.username, '1008-web');
    assert.equal(proof.matches('right'), true, header);
    assert.equal(proof.matches('wrong'), false);
    const other = withResponses(text, [[proof, proof.responseOf('secret')]]);
    assert.equal(proofsOf(other)?.[0]?.matches('secret'), true);
    assert.equal(other.length, text.length, 'nothing else is changed');
    assert.match(other, /\r\n\r\nresponse="body"$/);
  }
});
test('sip digest - a text without a digest of a request, or with another algorithm, is never accepted', () => {
  for (const text of [
    '',
    '\r\n\r\n',
    'SIP/2.0 200 OK\r\n\r\n',
    request('Authorization: Basic MTAwODpyaWdodA=='),
    request(`X-Authorization: ${answer('right')}`),
  ]) {
    assert.deepEqual(proofsOf(text), [], text);
  }
  for (const changed of [
    answer('right').replace('algorithm=MD5', 'algorithm=SHA-256'),
    answer('right').replace('qop=auth', 'qop=auth-int'),
    answer('right').replace(/uri="[^"]*"/, 'uri="sip:elsewhere"'),
    answer('right').replace(/nonce="[^"]*"/, 'nonce="other"'),
  ]) {
    assert.equal(proofsOf(request(`Authorization: ${changed}`))?.[0]?.matches('right'), false, changed);
  }
  const invite = request(`Authorization: ${answer('right')}`).replace('REGISTER', 'INVITE');
  assert.equal(proofsOf(invite)?.[0]?.matches('right'), false, 'of another method');
});
test('sip digest - every response of every header is replaced; more than eight headers are refused', () => {
  const twice = `${answer('right')}, response="0123"`;
  const text = request(`Authorization: ${twice}`, `Proxy-Authorization: ${answer('right')}`);
  const proofs = proofsOf(text) ?? [];
  assert.deepEqual(
    proofs.map(({ at }) => at.length),
    [2, 1],
  );
  const none = withResponses(
    text,
    proofs.map((proof) => [proof, NO_RESPONSE]),
  );
  assert.equal(none.split(`response="${NO_RESPONSE}"`).length, 4);
  assert.equal(
    proofsOf(request(...Array.from({ length: 9 }, () => `Authorization: ${answer('right')}`))),
    null,
  );
});
test('sip digest - a digest that the engine may read and the relay does not is refused', () => {
  const header = `Authorization: ${answer('right')}`;
  const whole = request(header);
  for (const text of [
    `\r\n${whole}`,
    whole.replace('SIP/2.0\r\n', 'SIP/2.0 \r\n'),
    whole.replace('SIP/2.0\r\n', 'sip/2.0\r\n'),
    whole.replaceAll('\r\n', '\n'),
    request('Subject: x', 'X: y').replace('X: y', `X: y\n${header}`),
    request(`X: y\r${header}`),
    request().replace('response="body"', whole),
    request(`${header}\nProxy-${header}`),
    request(header.replace('Authorization', `Authorization${' '.repeat(50)}`)),
    request('Authorization: Digest username="1008-web"'),
    `SIP/2.0 200 OK\r\n${header}\r\n\r\n`,
  ])
    assert.equal(proofsOf(text), null, JSON.stringify(text));
});
test('sip digest - any text is read within its bounds, however long', () => {
  fc.assert(
    fc.property(
      fc.string({
        unit: fc.constantFrom('"', '\\', ',', '=', ' ', '\r\n', ':', 'a', 'Digest '),
        maxLength: 200,
      }),
      (text) => {
        const whole = request(`Authorization: Digest ${text}`);
        const proofs = proofsOf(whole) ?? [];
        for (const { at } of proofs)
          for (const { from, to } of at) assert.ok(from <= to && to <= whole.length);
        withResponses(
          whole,
          proofs.map((proof) => [proof, NO_RESPONSE]),
        );
      },
    ),
  );
  for (const part of ['"', '\\', ',', '=', 'a', ' ', '\r\n ', 'a=",', 'response=']) {
    const long = request(`Authorization: Digest ${part.repeat(64_000 / part.length)}`);
    for (const { at } of proofsOf(long) ?? []) for (const { from, to } of at) assert.ok(from <= to);
  }
});
test('sip digest - status and method of an answer', () => {
  const of = (text: string) => answerOf(text);
  assert.deepEqual(of('SIP/2.0 200 OK\r\nCSeq: 3 REGISTER\r\n\r\n'), { status: 200, method: 'REGISTER' });
  assert.deepEqual(of('SIP/2.0 401 Unauthorized\r\nCSEQ:  3 REGISTER\r\n\r\n'), {
    status: 401,
    method: 'REGISTER',
  });
  assert.equal(of('OPTIONS sip:x SIP/2.0\r\nCSeq: 3 OPTIONS\r\n\r\n'), null);
});
