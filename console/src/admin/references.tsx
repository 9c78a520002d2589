/** Fields with a reference: another object, a destination of calls, a sound. */
import { useState } from 'react';
import type { ReactNode } from 'react';
import { Fieldset, Group, Input, NativeSelect, NumberInput, Select, Stack, TextInput } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import type { ConfigKind } from '@offhook/contract/config-objects.ts';
import { errorText } from '../app/error-words.ts';
import { useClient } from '../app/session.tsx';
import { isKind, textOf, titleOf, useChoices, useTitle } from './data.ts';
import { fieldLabel, kindName, optionLabel } from './field-words.ts';
import { NewPrompt } from './new-prompt.tsx';
import type { Fields } from './schema.ts';
import { wordsOf } from '../app/words.ts';

const t = wordsOf('admin');

interface Common {
  readonly id: string;
  readonly label: string;
  readonly description?: string | undefined;
  readonly error?: ReactNode;
  readonly withAsterisk?: boolean;
}
/** Delay while a word is typed. */
const TYPING_MS = 200;

interface ReferenceProps extends Common {
  readonly kind: ConfigKind;
  readonly clearable: boolean;
  readonly value: string;
  readonly onChange: (key: string) => void;
}
const named = (key: string, title: string): string =>
  title === '' || title === key ? key : `${key} · ${title}`;
export function ReferenceSelect({ kind, clearable, value, onChange, ...common }: ReferenceProps): ReactNode {
  const [search, setSearch] = useState('');
  const [opened, setOpened] = useState(false);
  const own = named(value, useTitle(kind, value));
  const [wanted] = useDebouncedValue(search === own ? '' : search.trim(), TYPING_MS);
  const { data, isFetching, error } = useChoices(kind, wanted, opened);
  const found = (data?.objects ?? []).map((o) => ({
    value: o.key,
    label: named(o.key, titleOf(kind, o.object)),
  }));
  const here = value === '' || found.some((o) => o.value === value);
  return (
    <Select
      {...common}
      searchable
      clearable={clearable}
      clearButtonProps={{ 'aria-label': t('clear') }}
      placeholder={t('search_kind', { kind: kindName(kind) })}
      value={value === '' ? null : value}
      onChange={(next) => onChange(next ?? '')}
      searchValue={search}
      onSearchChange={setSearch}
      onDropdownOpen={() => setOpened(true)}
      data={here ? found : [{ value, label: own }, ...found]}
      // The service has filtered already.
      filter={({ options }) => options}
      nothingFoundMessage={
        isFetching || !opened ? t('searching') : error === null ? t('nothing_found') : errorText(error)
      }
      maxDropdownHeight={260}
      comboboxProps={{ withinPortal: true }}
    />
  );
}

const PLACES = [
  'extension',
  'queue',
  'ring_group',
  'menu',
  'time_condition',
  'conference',
  'mailbox',
  'service',
  'trunk',
  'hang_up',
] as const;
const REASONS = ['normal', 'busy', 'congestion', 'not_found'];
interface PlaceProps extends Common {
  readonly nullable: boolean;
  readonly value: Fields | null;
  readonly onChange: (value: Fields | null) => void;
}
const newPlace = (kind: string): Fields => {
  if (kind === 'hang_up') return { kind, reason: 'normal', play: null };
  return kind === 'trunk' ? { kind, key: '', strip: 0, prepend: '' } : { kind, key: '' };
};
export function DestinationInput({ nullable, value, onChange, id, ...common }: PlaceProps): ReactNode {
  const { label, description, error, withAsterisk } = common;
  const kind = typeof value?.['kind'] === 'string' ? value['kind'] : '';
  const set = (change: Fields): void => onChange({ ...value, ...change });
  return (
    <Fieldset
      id={id}
      legend={
        <>
          {label}
          {withAsterisk === true && <span aria-hidden> *</span>}
        </>
      }
      p="sm"
    >
      <Stack gap="xs">
        {description !== undefined && <Input.Description>{description}</Input.Description>}
        <Group gap="sm" align="flex-end" wrap="wrap">
          <NativeSelect
            aria-label={t('place_kind', { label })}
            value={kind}
            onChange={(event) => {
              const next = event.currentTarget.value;
              onChange(next === '' ? null : newPlace(next));
            }}
            data={[
              ...(nullable || kind === ''
                ? [{ value: '', label: nullable ? t('nowhere') : t('choose') }]
                : []),
              ...PLACES.map((place) => ({ value: place, label: kindName(place) })),
            ]}
          />
          {isKind(kind) && (
            <div style={{ flex: '1 1 240px' }}>
              <ReferenceSelect
                id={`${id}.key`}
                label={kindName(kind)}
                kind={kind}
                clearable={false}
                value={typeof value?.['key'] === 'string' ? value['key'] : ''}
                onChange={(key) => set({ key })}
              />
            </div>
          )}
        </Group>
        {kind === 'trunk' && (
          <Group gap="sm" grow>
            <NumberInput
              label={fieldLabel('', 'strip')}
              min={0}
              max={32}
              allowDecimal={false}
              value={Number(value?.['strip'] ?? 0)}
              onChange={(strip) => set({ strip: Number(strip) })}
            />
            <TextInput
              label={fieldLabel('', 'prepend')}
              value={textOf(value ?? {}, 'prepend')}
              onChange={(event) => set({ prepend: event.currentTarget.value })}
            />
          </Group>
        )}
        {kind === 'hang_up' && (
          <>
            <NativeSelect
              label={fieldLabel('', 'reason')}
              value={textOf(value ?? {}, 'reason')}
              onChange={(event) => set({ reason: event.currentTarget.value })}
              data={REASONS.map((reason) => ({ value: reason, label: optionLabel('reason', reason) }))}
            />
            <SoundInput
              id={`${id}.play`}
              label={fieldLabel('', 'play')}
              nullable
              value={(value?.['play'] ?? null) as Fields | null}
              onChange={(play) => set({ play })}
            />
          </>
        )}
        {error !== undefined && <Input.Error>{error}</Input.Error>}
      </Stack>
    </Fieldset>
  );
}

export function SoundInput({ nullable, value, onChange, id, ...common }: PlaceProps): ReactNode {
  const { label, description, error, withAsterisk } = common;
  const client = useClient();
  const [opened, setOpened] = useState(false);
  const [search, setSearch] = useState('');
  const way = value === null || value === undefined ? '' : 'prompt' in value ? 'prompt' : 'built_in';
  const { data, error: failed } = useQuery({
    queryKey: ['config', 'sounds'],
    queryFn: ({ signal }) => client.sounds.list(signal),
    enabled: way === 'built_in' && opened,
    staleTime: 300_000,
  });
  const own = way === 'built_in' && typeof value?.['built_in'] === 'string' ? value['built_in'] : '';
  const names = data?.built_in ?? [];
  return (
    <Input.Wrapper
      id={id}
      label={label}
      description={description}
      error={error}
      labelElement="div"
      withAsterisk={withAsterisk ?? false}
    >
      <Group gap="sm" align="flex-end" wrap="wrap" mt={4} id={id}>
        <NativeSelect
          aria-label={t('sound_kind', { label })}
          value={way}
          onChange={(event) => {
            const next = event.currentTarget.value;
            onChange(next === '' ? null : { [next]: '' });
          }}
          data={[
            ...(nullable || way === '' ? [{ value: '', label: nullable ? t('no_sound') : t('choose') }] : []),
            { value: 'prompt', label: kindName('prompt') },
            { value: 'built_in', label: t('built_in') },
          ]}
        />
        {way === 'prompt' && (
          <div style={{ flex: '1 1 240px' }}>
            <ReferenceSelect
              id={`${id}.prompt`}
              label={kindName('prompt')}
              kind="prompt"
              clearable={false}
              value={typeof value?.['prompt'] === 'string' ? value['prompt'] : ''}
              onChange={(prompt) => onChange({ prompt })}
            />
          </div>
        )}
        {way === 'prompt' && <NewPrompt id={id} onMade={(prompt) => onChange({ prompt })} />}
        {way === 'built_in' && (
          <Select
            style={{ flex: '1 1 240px' }}
            id={`${id}.built_in`}
            label={t('built_in')}
            searchable
            limit={50}
            value={own === '' ? null : own}
            onChange={(name) => onChange({ built_in: name ?? '' })}
            searchValue={search}
            onSearchChange={setSearch}
            onDropdownOpen={() => setOpened(true)}
            data={own === '' || names.includes(own) ? [...names] : [own, ...names]}
            nothingFoundMessage={
              failed !== null ? errorText(failed) : t(data === undefined ? 'searching' : 'nothing_found')
            }
          />
        )}
      </Group>
    </Input.Wrapper>
  );
}
