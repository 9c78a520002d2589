import assert from 'node:assert/strict';
import { test } from 'node:test';
import { problemOfLine } from './log-words.ts';

const line = (source: string, words: string): string =>
  `[2026-11-22 02:44:45.587] WARNING[12616]: ${source} a_function: ${words}`;

test('asterisk/apply - what an engine says of calls during a reload is no problem of the configuration', () => {
  for (const [source, words] of [
    ['res_pjsip_mwi.c:499', 'Unable to send unsolicited MWI to 1011 because endpoint does not exist'],
    ['file.c:1262', 'File nobody-home does not exist in any format'],
    [
      'pbx.c:4500',
      "Channel 'PJSIP/1001-00000001' sent to invalid extension: context,exten,priority=internal,9999,1",
    ],
    ['func_db.c:90', 'DB requires an argument, invalid'],
    ['res_pjsip/pjsip_distributor.c:700', 'Request from <sip:x@y> failed: invalid duplicate parse error'],
    ['res_http_websocket.c:300', 'Protocol sip3 is not supported'],
    ['chan_pjsip.c:100', "Endpoint 'x' does not exist"],
    ['app_dial.c:2500', 'Dial argument takes format, invalid'],
  ] as const)
    assert.equal(problemOfLine(line(source, words), 'live'), null, words);
});

test('asterisk/apply - what an engine says of its configuration during a reload is a problem', () => {
  for (const [source, words] of [
    ['config_options.c:798', 'Error parsing allow=nonsense at line 3 of pjsip.conf'],
    [
      'res_sorcery_config.c:422',
      "Could not create an object of type 'endpoint' with id '1001' from pjsip.conf",
    ],
    ['pbx.c:7000', "Unable to register extension '1001' priority 1 in 'people', already in use"],
    ['res_pjsip_outbound_registration.c:2000', "Invalid client URI 'x' on registration 'north'"],
    ['app_queue.c:3000', 'Invalid value for timeout in queue support'],
    ['app_voicemail.c:13000', 'Unknown keyword in voicemail.conf'],
  ] as const)
    assert.equal(problemOfLine(line(source, words), 'live')?.words, words);
});

test('asterisk/apply - a throw-away engine that looks up no name of a trunk is no problem', () => {
  const words =
    "Error 320047 'No answer record in the DNS response (PJLIB_UTIL_EDNSNOANSWERREC)' sending OPTIONS request to endpoint trunk-carrier";
  assert.equal(problemOfLine(line('res_pjsip.c:2000', words), 'shadow'), null);
});
