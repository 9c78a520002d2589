import { useState } from 'react';
import type { ReactNode } from 'react';
import {
  ActionIcon,
  Button,
  Checkbox,
  Group,
  NativeSelect,
  NumberInput,
  Stack,
  Switch,
  Table,
  TagsInput,
  Text,
  TextInput,
} from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Plus, Trash2 } from 'lucide-react';
import type { CallSettings } from '@offhook/contract/call-settings.ts';
import { ChangeForm } from '../app/change-form.tsx';
import { errorAt, fieldsWith } from '../app/field-errors.ts';
import { useClient } from '../app/session.tsx';
import { Read } from '../app/states.tsx';
import { Rows, Section, useChange } from '../app/page-parts.tsx';
import { levelName } from './parts.tsx';
import { wordsOf } from '../app/words.ts';

const t = wordsOf('system');

const LEVELS = ['user', 'agent', 'supervisor', 'admin'] as const;
const DESTINATIONS = ['internal', 'emergency', 'national', 'mobile', 'international', 'premium'] as const;
const CLASSES = ['national', 'mobile', 'international', 'premium'] as const;
type Prefix = CallSettings['prefixes'][number];
/** Rows rendered at first; a site can have thousands, shown on demand. */
const ROWS = 50;

function Allowed({
  allowed,
  onChange,
}: {
  readonly allowed: CallSettings['allowed'];
  readonly onChange: (allowed: CallSettings['allowed']) => void;
}): ReactNode {
  return (
    <Rows
      caption={t('allowed')}
      minWidth={640}
      folds
      columns={[t('level'), ...DESTINATIONS.map((d) => t(`destination_${d}`))]}
    >
      {LEVELS.map((level) => (
        <Table.Tr key={level}>
          <Table.Th scope="row" fw={500}>
            {levelName(level)}
          </Table.Th>
          {DESTINATIONS.map((destination) => {
            const has = allowed[level].includes(destination);
            return (
              <Table.Td key={destination}>
                <Checkbox
                  aria-label={`${levelName(level)}: ${t(`destination_${destination}`)}`}
                  label={
                    <Text span inherit hiddenFrom="sm">
                      {t(`destination_${destination}`)}
                    </Text>
                  }
                  checked={has}
                  onChange={() =>
                    onChange({
                      ...allowed,
                      [level]: has
                        ? allowed[level].filter((d) => d !== destination)
                        : [...allowed[level], destination],
                    })
                  }
                />
              </Table.Td>
            );
          })}
        </Table.Tr>
      ))}
    </Rows>
  );
}
function Prefixes({
  prefixes,
  error,
  onChange,
}: {
  readonly prefixes: readonly Prefix[];
  readonly error: unknown;
  readonly onChange: (prefixes: Prefix[]) => void;
}): ReactNode {
  const [shown, setShown] = useState(ROWS);
  const set = (at: number, row: Prefix): void => onChange(prefixes.map((p, i) => (i === at ? row : p)));
  return (
    <div>
      <Text size="sm" fw={500}>
        {t('prefixes')}
      </Text>
      <Text size="xs" c="dimmed" mb="xs">
        {t('prefixes_hint')}
      </Text>
      <Stack gap="xs" component="ul" p={0} m={0} style={{ listStyle: 'none' }}>
        {prefixes.slice(0, shown).map((row, i) => (
          // oxlint-disable-next-line react/no-array-index-key -- a row that is being typed has nothing else that stays
          <Group component="li" key={i} gap="xs" wrap="nowrap">
            <TextInput
              aria-label={t('prefix_n', { n: i + 1 })}
              error={errorAt(error, `prefixes.${i}.prefix`)}
              value={row.prefix}
              onChange={(event) => set(i, { ...row, prefix: event.currentTarget.value })}
              w={{ base: 96, sm: 150 }}
              ff="monospace"
            />
            <NativeSelect
              aria-label={t('prefix_is', { prefix: row.prefix })}
              value={row.destination}
              onChange={(event) =>
                set(i, { ...row, destination: event.currentTarget.value as Prefix['destination'] })
              }
              data={CLASSES.map((value) => ({ value, label: t(`destination_${value}`) }))}
            />
            <ActionIcon
              variant="default"
              size="lg"
              aria-label={t('remove_prefix', { prefix: row.prefix })}
              onClick={() => onChange(prefixes.filter((_, n) => n !== i))}
            >
              <Trash2 size={16} aria-hidden />
            </ActionIcon>
          </Group>
        ))}
      </Stack>
      <Group mt="xs" gap="xs">
        {prefixes.length > shown && (
          <Button size="xs" variant="subtle" onClick={() => setShown(shown + 10 * ROWS)}>
            {t('more_prefixes', { count: prefixes.length - shown })}
          </Button>
        )}
        <Button
          size="xs"
          variant="default"
          leftSection={<Plus size={14} aria-hidden />}
          onClick={() => {
            setShown(Math.max(shown, prefixes.length + 1));
            onChange([...prefixes, { prefix: '', destination: 'national' }]);
          }}
        >
          {t('add_prefix')}
        </Button>
      </Group>
    </div>
  );
}
function Form({ settings }: { readonly settings: CallSettings }): ReactNode {
  const client = useClient();
  const [wanted, setWanted] = useState(settings);
  const change = useChange(() => client.calls.setSettings(wanted), {
    renews: ['call-settings'],
    done: () => t('saved'),
  });
  const set = (part: Partial<CallSettings>): void => setWanted((before) => ({ ...before, ...part }));
  const labels = {
    enabled: t('calls_enabled'),
    allowed: t('allowed'),
    per_minute: t('per_minute'),
    per_day: t('per_day'),
    countries_per_day: t('countries_per_day'),
    caller_ids: t('caller_ids'),
    emergency: t('emergency'),
    prefixes: t('prefixes'),
  };
  const field = fieldsWith(change.error, labels);
  const limit = (name: 'per_minute' | 'per_day' | 'countries_per_day'): ReactNode => (
    <NumberInput
      {...field(name)}
      value={wanted[name]}
      onChange={(value) => set({ [name]: Number(value) })}
      allowDecimal={false}
      style={{ flex: '1 1 12rem' }}
      required
    />
  );
  return (
    <ChangeForm change={change} submit={t('save')} labels={labels}>
      <Switch
        {...field('enabled')}
        description={t('calls_enabled_hint')}
        checked={wanted.enabled}
        onChange={(event) => set({ enabled: event.currentTarget.checked })}
      />
      <div>
        <Text size="sm" fw={500} mb="xs">
          {t('allowed')}
        </Text>
        <Allowed allowed={wanted.allowed} onChange={(allowed) => set({ allowed })} />
      </div>
      <Group align="flex-end">
        {limit('per_minute')}
        {limit('per_day')}
        {limit('countries_per_day')}
      </Group>
      <TagsInput
        {...field('caller_ids')}
        description={t('caller_ids_hint')}
        value={wanted.caller_ids}
        onChange={(caller_ids) => set({ caller_ids })}
        splitChars={[',', ' ']}
      />
      <TagsInput
        {...field('emergency')}
        description={t('emergency_hint')}
        value={wanted.emergency}
        onChange={(emergency) => set({ emergency })}
        splitChars={[',', ' ']}
      />
      <Prefixes prefixes={wanted.prefixes} error={change.error} onChange={(prefixes) => set({ prefixes })} />
    </ChangeForm>
  );
}
/** Limits of the cost of calls from the console and the API. */
export function CallSettingsSection(): ReactNode {
  const client = useClient();
  const read = useQuery({
    queryKey: ['call-settings'],
    queryFn: ({ signal }) => client.calls.settings(signal),
  });
  return (
    <Section title={t('call_settings')} text={t('call_settings_text')}>
      <Read of={read}>{({ settings }) => <Form settings={settings} />}</Read>
    </Section>
  );
}
