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
    `Authorization${' '.repeat(50)}: ${answer('right')}`,
    `authorization:${answer('right').replaceAll(', ', ',\r\n ')}`,
    `Proxy-Authorization: ${answer('right', 'Digest realm="offhook",nonce="n"')}`,
    `Authorization: ${answer('right').replace('Digest', 'DIGEST').replace('algorithm=MD5', 'algorithm="md5"')}`,
    `Authorization: ${answer('right').replaceAll(', ', ' ,  ').replaceAll('="', ' = "')}`,
    // As SIP.js and JsSIP order it.
    `Authorization: ${answer('right').replace(/ (.*), (algorithm=MD5)/, ' $2, $1')}`,
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
    request('Subject: the authorization & a Digest username="1008-web"'),
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
  const short = answer('right').replace(/response="[^"]*"/, 'response=1');
  const text = request(
    `Authorization: ${short}`,
    'Expires: 300',
    `Proxy-Authorization: ${answer('right')}`,
    `authorization: ${answer('wrong')}`,
  );
  const proofs = proofsOf(text) ?? [];
  assert.equal(proofs.length, 3);
  const none = withResponses(
    text,
    proofs.map((proof) => [proof, NO_RESPONSE]),
  );
  assert.deepEqual(
    none.match(/response=\S+/g),
    [NO_RESPONSE, `"${NO_RESPONSE}"`, `"${NO_RESPONSE}"`, '"body"'].map((value) => `response=${value}`),
  );
  assert.equal(
    proofsOf(request(...Array.from({ length: 9 }, () => `Authorization: ${answer('right')}`))),
    null,
  );
});
test('sip digest - an authorization header of any other form or place is refused', () => {
  const proof = answer('right');
  const header = `Authorization: ${proof}`;
  const other = 'Authorization: Digest username="1008-web", response="x"';
  const whole = request(header);
  assert.equal(proofsOf(whole)?.length, 1);
  for (const text of [
    `\r\n${whole}`,
    ` ${whole}`,
    whole.replace('SIP/2.0\r\n', 'SIP/2.0 \r\n'),
    whole.replace('SIP/2.0\r\n', 'sip/2.0\r\n'),
    whole.replaceAll('\r\n', '\n'),
    whole.slice(0, whole.indexOf('\r\nContent-Length')),
    request(`X: y\n${header}`),
    request(`X: y\r${header}`),
    request().replace('response="body"', whole),
    request(`${header}\nProxy-${header}`),
    // `&` ends a header, and a surplus of other headers hides none.
    ...['&', '& ', '&\r\n ', '&Proxy-', '&X: y&'].map((end) => request(`Expires: 300${end}${header}`)),
    request(`Expires: 300&${header}`, other),
    request(other, `Expires: 300&${header}`),
    request(`Expires: 300&${header}`, `\v${other}`, `\f${other}`, `\xa0${other}`),
    request(`Via: SIP/2.0/WS x (`, `)&${header}`),
    request(`Authorization\r\n\t:${header}`),
    request(`Subject: ${header}`),
    request(`X-${header}`),
    // The scheme.
    `SIP/2.0 200 OK\r\n${header}\r\n\r\n`,
    request(header.replace('Digest', '"Digest"')),
    request(header.replace('Digest', '"digest" ')),
    request(header.replace('Digest ', 'Digest')),
    request(header.replace('Digest ', 'Digest\v')),
    request(header.replace('Digest', 'Digest,')),
    request('Authorization: Basic MTAwODpyaWdodA=='),
    request('Authorization:'),
    // The parameters.
    request('Authorization: Digest username="1008-web"'),
    request('Authorization: Digest response="x"'),
    ...[
      proof.replace('response=', 'response="x", %72esponse='),
      proof.replace('response=', '%72esponse='),
      proof.replace('response=', 'response="x", response='),
      proof.replace('response=', 'response="x", RESPONSE='),
      proof.replace('response=', 'response="x"; response='),
      proof.replace('response=', 'response="x" response='),
      proof.replace('response=', 'response=, response='),
      proof.replace('response=', 'response="x", x="\\", response='),
      proof.replace('response=', 'x="\n response='),
      proof.replace('response=', 'x=[, response='),
      proof.replace('response=', 'x, response='),
      proof.replace('response=', 'response="x",, response='),
      `${proof}&${other}`,
      `${proof}& response="x"`,
      `${proof}, x="authorization: Digest"`,
    ].map((value) => request(`Authorization: ${value}`)),
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
        for (const { from, to } of proofs) assert.ok(from <= to && to <= whole.length);
        withResponses(
          whole,
          proofs.map((proof) => [proof, NO_RESPONSE]),
        );
      },
    ),
  );
  for (const part of ['"', '\\', ',', '=', 'a', ' ', '\r\n ', 'a=",', 'response=']) {
    const long = request(`Authorization: Digest ${part.repeat(64_000 / part.length)}`);
    for (const { from, to } of proofsOf(long) ?? []) assert.ok(from <= to);
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
