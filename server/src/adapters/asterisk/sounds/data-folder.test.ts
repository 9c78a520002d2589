import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { fakeProgram, temporary } from '../../../../test/support/engine-instance.ts';
import { createInstance } from '../process/instance-file.ts';
import { dataDir } from '../conf/instance.ts';
import { linkData } from './data-folder.ts';

const REFERENCE = `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE docs SYSTEM "appdocsxml.dtd">
<?xml-stylesheet type="text/xsl" href="appdocsxml.xslt"?>
<docs xmlns:xi="http://www.w3.org/2001/XInclude">
<module language="en_US" name="app_echo"><support_level>core</support_level></module>
	<application name="Echo" language="en_US" module="app_echo">
		<since><version>0.1.12</version></since>
		<synopsis>
			Echo media.
		</synopsis>
		<description><para>Echos back any media.</para></description>
	</application>
	<manager name="Ping" language="en_US" module="core"><synopsis>Keepalive.</synopsis><syntax /></manager>
	<managerEvent language="en_US" name="Hangup" module="core"><synopsis>Hung up.</synopsis></managerEvent>
	<configInfo name="res_echo" language="en_US">
		<synopsis>Echoes</synopsis>
		<configFile name="echo.conf">
			<configObject name="echo"><synopsis>One</synopsis>
				<configOption name="delay" default="0" regex="false"><synopsis>Delay</synopsis></configOption>
			</configObject>
		</configFile>
	</configInfo>
</docs>
`;
const OUTLINE = `<?xml version="1.0" encoding="UTF-8"?>
<docs>
<application name="Echo" language="en_US" module="app_echo"><synopsis>
			Echo media.
		</synopsis></application>\
<manager name="Ping" language="en_US" module="core"><synopsis>Keepalive.</synopsis></manager>\
<managerEvent language="en_US" name="Hangup" module="core"><synopsis>Hung up.</synopsis></managerEvent>\
<configInfo name="res_echo" language="en_US"><synopsis>Echoes</synopsis><configFile name="echo.conf">\
<configObject name="echo"><synopsis>One</synopsis><configOption name="delay" default="0" regex="false">\
<synopsis>Delay</synopsis></configOption></configObject></configFile></configInfo>
</docs>
`;

test('data folder - the engine reads its reference without descriptions, and the new one after an update', async (t) => {
  const folder = temporary(t);
  const program = fakeProgram(folder, '');
  const given = path.join(program.data_dir, 'documentation');
  const instance = await createInstance(path.join(folder, 'site'));
  const seen = path.join(dataDir(instance), 'documentation');
  fs.mkdirSync(given);
  fs.writeFileSync(path.join(given, 'appdocsxml.dtd'), '');

  await linkData(instance, program);
  assert.equal(fs.realpathSync(seen), fs.realpathSync(given), 'a program without a reference');

  const write = (text: string): void => fs.writeFileSync(path.join(given, 'core-en_US.xml'), text);
  write(REFERENCE);
  await linkData(instance, program);
  assert.deepEqual(fs.readdirSync(seen), ['core-en_US.xml']);
  assert.equal(fs.readFileSync(path.join(seen, 'core-en_US.xml'), 'utf8'), OUTLINE);
  assert.equal(fs.readFileSync(path.join(given, 'core-en_US.xml'), 'utf8'), REFERENCE, "the program's own");

  write(REFERENCE.replace('name="Ping"', 'name="Ping>"'));
  await linkData(instance, program);
  assert.equal(fs.realpathSync(seen), fs.realpathSync(given), 'a reference of which no outline can be made');

  write(REFERENCE.replaceAll('Echo', 'Mirror'));
  await linkData(instance, program);
  assert.match(fs.readFileSync(path.join(seen, 'core-en_US.xml'), 'utf8'), /name="Mirror"/);
});
