/** Route of a test call with reasons, from the configuration, as steps. */
import { useState } from 'react';
import type { ReactNode } from 'react';
import {
  Anchor,
  Badge,
  Button,
  Group,
  List,
  Paper,
  SegmentedControl,
  SimpleGrid,
  Stack,
  Text,
  TextInput,
  Title,
} from '@mantine/core';
import type { RouteTest, RouteTestEnd } from '@offhook/contract/config-route-test.ts';
import { Link } from 'wouter';
import { fieldsWith } from '../app/field-errors.ts';
import { formatDateTime, formatNumber } from '../app/format.ts';
import { useClient } from '../app/session.tsx';
import { Failure } from '../app/states.tsx';
import { PAGE_PATHS } from '../app/paths.ts';
import { kindName } from './field-words.ts';
import { ObjectLink } from './object-form.tsx';
import { ReferenceSelect } from './references.tsx';
import { Note, Tag } from './tone.tsx';
import { wordsOf } from '../app/words.ts';
import styles from './admin.module.css';

const t = wordsOf('admin');

type From = 'extension' | 'trunk';
const labelsOf = () => ({
  'from.extension': kindName('extension'),
  'from.trunk': kindName('trunk'),
  'from.caller': t('caller'),
  number: t('called'),
  at: t('at_time'),
});
export function RouteTestView(): ReactNode {
  const client = useClient();
  const [from, setFrom] = useState<From>('extension');
  const [key, setKey] = useState({ extension: '', trunk: '' });
  const [caller, setCaller] = useState('');
  const [number, setNumber] = useState('');
  const [when, setWhen] = useState('');
  const [view, setView] = useState<'applied' | 'draft'>('draft');
  const [busy, setBusy] = useState(false);
  const [failed, setFailed] = useState<unknown>(null);
  const [test, setTest] = useState<RouteTest | null>(null);
  async function ask(): Promise<void> {
    setBusy(true);
    setFailed(null);
    try {
      const reply = await client.config.routeTest({
        number: number.replaceAll(/[\s()/-]/g, ''),
        from:
          from === 'extension'
            ? { extension: key.extension }
            : { trunk: key.trunk, caller: caller.replaceAll(/[\s()/-]/g, '') },
        view,
        ...(when === '' ? {} : { at: new Date(when).toISOString() }),
      });
      setTest(reply.test);
    } catch (caught) {
      setTest(null);
      setFailed(caught);
    } finally {
      setBusy(false);
    }
  }
  const field = fieldsWith(failed, labelsOf());
  return (
    <Stack gap="md" maw={980}>
      <div>
        <Anchor component={Link} href={PAGE_PATHS.config} size="sm">
          {t('configuration')}
        </Anchor>
        <Title order={1} size="h2">
          {t('route_test')}
        </Title>
        <Text c="dimmed" size="sm">
          {t('route_test_lead')}
        </Text>
      </div>
      <Paper withBorder p="md">
        <form
          onSubmit={(event) => {
            event.preventDefault();
            void ask();
          }}
        >
          <Stack gap="sm">
            <SegmentedControl
              aria-label={t('from_where')}
              value={from}
              onChange={(next) => setFrom(next as From)}
              data={[
                { value: 'extension', label: t('from_inside') },
                { value: 'trunk', label: t('from_outside') },
              ]}
            />
            <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="md">
              <ReferenceSelect
                id={`route-from-${from}`}
                key={from}
                label={kindName(from)}
                kind={from}
                clearable={false}
                value={key[from]}
                onChange={(next) => setKey({ ...key, [from]: next })}
              />
              {from === 'trunk' && (
                <TextInput
                  {...field('from.caller')}
                  description={t('caller_help')}
                  inputMode="tel"
                  value={caller}
                  onChange={(event) => setCaller(event.currentTarget.value)}
                />
              )}
              <TextInput
                {...field('number')}
                description={t('called_help')}
                inputMode="tel"
                required
                value={number}
                onChange={(event) => setNumber(event.currentTarget.value)}
              />
              <TextInput
                type="datetime-local"
                {...field('at')}
                description={t('at_time_help', { zone: Intl.DateTimeFormat().resolvedOptions().timeZone })}
                value={when}
                onChange={(event) => setWhen(event.currentTarget.value)}
              />
            </SimpleGrid>
            <Group gap="sm" justify="space-between">
              <SegmentedControl
                aria-label={t('which')}
                value={view}
                onChange={(next) => setView(next as 'applied' | 'draft')}
                data={[
                  { value: 'draft', label: t('which_draft') },
                  { value: 'applied', label: t('which_applied') },
                ]}
              />
              <Button type="submit" loading={busy} disabled={number.trim() === '' || key[from] === ''}>
                {t('ask')}
              </Button>
            </Group>
          </Stack>
        </form>
      </Paper>
      {failed !== null && <Failure error={failed} labels={labelsOf()} />}
      <div aria-live="polite">{test !== null && <Answer test={test} />}</div>
    </Stack>
  );
}
function Answer({ test }: { readonly test: RouteTest }): ReactNode {
  const [first, ...branches] = test.ends;
  return (
    <Stack gap="md">
      <Paper withBorder p="md" component="section" aria-labelledby="way">
        <Title order={2} size="h4" id="way" mb={4}>
          {t('way_of', { number: test.number })}
        </Title>
        <Text size="sm" c="dimmed" mb="md">
          {t('way_at', { time: formatDateTime(test.at, test.zone), zone: test.zone })}
        </Text>
        <ol className={styles.way}>
          {test.steps.map((step, i) => (
            <li key={i}>
              <Group gap="xs">
                <Text size="sm" fw={600}>
                  {step.object === null ? (
                    t('exchange')
                  ) : (
                    <ObjectLink kind={step.object.kind} name={step.object.key} />
                  )}
                </Text>
                <Badge variant="default" tt="none" fw={500}>
                  {step.rule}
                </Badge>
              </Group>
              <Text size="sm" lang="en">
                {step.detail}
              </Text>
            </li>
          ))}
          {first !== undefined && (
            <li>
              <End end={first} />
            </li>
          )}
        </ol>
        {!test.complete && <Note tone="warn">{t('way_cut')}</Note>}
      </Paper>
      {branches.length > 0 && (
        <Paper withBorder p="md" component="section" aria-labelledby="branches">
          <Title order={2} size="h4" id="branches" mb="sm">
            {t('branches')}
          </Title>
          <Stack gap="sm">
            {branches.map((end, i) => (
              <End key={i} end={end} />
            ))}
          </Stack>
        </Paper>
      )}
    </Stack>
  );
}
const BAD: readonly RouteTestEnd['kind'][] = ['refused', 'nothing'];
const End = ({ end }: { readonly end: RouteTestEnd }): ReactNode => (
  <Paper withBorder p="sm">
    <Group gap="xs">
      {end.when !== null && (
        <Badge variant="default" tt="none" lang="en">
          {end.when}
        </Badge>
      )}
      <Tag tone={BAD.includes(end.kind) ? 'alert' : 'ok'}>{t(`end_${end.kind}`)}</Tag>
      {end.object !== null && (
        <Text size="sm" fw={600}>
          <ObjectLink kind={end.object.kind} name={end.object.key} />
        </Text>
      )}
    </Group>
    <Text size="sm" lang="en" mt={4}>
      {end.detail}
      {end.cause !== null && ` (${t('cause', { number: formatNumber(end.cause) })})`}
    </Text>
    {end.ways.length > 0 && (
      <List size="sm" type="ordered" mt={4}>
        {end.ways.map((way) => (
          <List.Item key={way.trunk}>
            <ObjectLink kind="trunk" name={way.trunk} />
            {` · ${t('way_number', { number: way.number, shown: way.shown_as })}`}
          </List.Item>
        ))}
      </List>
    )}
  </Paper>
);
