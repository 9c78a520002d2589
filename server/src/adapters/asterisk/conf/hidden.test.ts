import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hiddenSecrets } from './hidden.ts';

test('hidden secrets - no secret of any file is left, and another secret has another mark', () => {
  const cases: readonly [file: string, line: string, secret: string][] = [
    ['pjsip.conf', 'password = abcDEF_123-xyz', 'abcDEF'],
    ['pjsip.conf', 'password=abcDEF;x', 'abcDEF'],
    ['manager.conf', 'secret = hunter2', 'hunter2'],
    ['voicemail.conf', '1001 => 483920,Zoe,zoe@example.org', '483920'],
    ['custom/voicemail.conf', '  1001 => 483920,Zoe', '483920'],
    ['confbridge.conf', 'pin = 4711', '4711'],
    ['confbridge.conf', 'admin_pin = 4711', '4711'],
    ['extensions.conf', 'same => n,Set(CONFBRIDGE(user,pin)=4711)', '4711'],
    ['custom/pjsip.conf', 'register => user:hunter2@example.org', 'hunter2'],
  ];
  for (const [file, line, secret] of cases) {
    const shown = hiddenSecrets(file, `before\n${line}\nafter`);
    assert.doesNotMatch(shown, new RegExp(secret), line);
    assert.equal(shown.split('\n').length, 3);
    assert.equal(hiddenSecrets(file, `before\n${line}\nafter`), shown, 'the same text has the same marks');
    assert.notEqual(hiddenSecrets(file, `before\n${line.replace(secret, '9876')}\nafter`), shown, line);
  }
});

test('hidden secrets - what is none stays as it is', () => {
  const text = [
    '[1001](phone)',
    'passwordlocation = spooldir',
    'minpassword = 4',
    'exten => 1001,1,Dial(Local/1001@people)',
    'mailboxes = 1001@default',
    '',
  ].join('\n');
  assert.equal(hiddenSecrets('extensions.conf', text), text);
});
