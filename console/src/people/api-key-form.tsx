import { useState } from 'react';
import type { ReactNode } from 'react';
import {
  Checkbox,
  MultiSelect,
  SegmentedControl,
  SimpleGrid,
  Stack,
  TagsInput,
  Text,
  TextInput,
} from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { ApiKey, Scope } from '@offhook/contract/keys.ts';
import { useAttempt } from '../app/attempt.ts';
import { ChangeForm } from '../app/change-form.tsx';
import { Dialog } from '../app/dialog.tsx';
import { errorAt, fieldsWith } from '../app/field-errors.ts';
import { useClient } from '../app/session.tsx';
import { fromLocal, toLocal } from '../app/local-time.ts';
import { useChange } from '../app/page-parts.tsx';
import { wordsOf } from '../app/words.ts';

const t = wordsOf('people');
const scopes = wordsOf('scopes');
type ScopeWord<S extends Scope> = S extends `${infer Noun}:${infer Verb}` ? `scope_${Noun}_${Verb}` : never;
/** Rights of an API key's scope, in the reader's language. */
const scopeText = (scope: Scope): string => scopes(`scope_${scope.replace(':', '_')}` as ScopeWord<Scope>);

/** Every scope, in the order of the form; the type checks that none is missing. */
const SCOPES: Readonly<Record<Scope, true>> = {
  'directory:read': true,
  'calls:read': true,
  'calls:control': true,
  'queues:read': true,
  'queues:control': true,
  'agents:read': true,
  'agents:control': true,
  'phonebook:read': true,
  'phonebook:phones': true,
  'phonebook:write': true,
  'history:read': true,
  'history:write': true,
  'recordings:read': true,
  'webhooks:manage': true,
  'config:read': true,
  'config:write': true,
  'system:read': true,
  'mcp:read': true,
  'mcp:write': true,
};
const ALL = Object.keys(SCOPES) as Scope[];

interface ReachProps {
  readonly label: string;
  readonly all: string;
  readonly some: string;
  readonly value: readonly string[] | null;
  readonly onChange: (value: readonly string[] | null) => void;
  readonly children: (value: string[], onChange: (value: string[]) => void) => ReactNode;
}
/** All objects of a kind, or named ones. */
const Reach = ({ label, all, some, value, onChange, children }: ReachProps): ReactNode => (
  <Stack gap={6}>
    <Text size="sm" fw={500}>
      {label}
    </Text>
    <SegmentedControl
      aria-label={label}
      value={value === null ? 'all' : 'some'}
      onChange={(next) => onChange(next === 'all' ? null : [])}
      data={[
        { value: 'all', label: all },
        { value: 'some', label: some },
      ]}
    />
    {value !== null && children([...value], onChange)}
  </Stack>
);

interface FormProps {
  /** Null creates a key. */
  readonly apiKey: ApiKey | null;
  readonly onMade: (key: string) => void;
  readonly onClose: () => void;
}
export function ApiKeyForm({ apiKey, onMade, onClose }: FormProps): ReactNode {
  const client = useClient();
  const attempt = useAttempt();
  const [name, setName] = useState(apiKey?.name ?? '');
  const [scopes, setScopes] = useState<readonly string[]>(apiKey?.scopes ?? []);
  const [queues, setQueues] = useState<readonly string[] | null>(apiKey?.queues ?? null);
  const [extensions, setExtensions] = useState<readonly string[] | null>(apiKey?.extensions ?? null);
  const [expires, setExpires] = useState(toLocal(apiKey?.expires_at ?? null));
  const known = useQuery({
    queryKey: ['queues', 'names'],
    queryFn: ({ signal }) => client.queues.list(signal),
  });
  const change = useChange(
    async () => {
      const wanted = {
        name,
        scopes: scopes as Scope[],
        queues: queues === null ? null : [...queues],
        extensions: extensions === null ? null : [...extensions],
        expires_at: fromLocal(expires),
      };
      if (apiKey === null)
        return (await attempt(wanted, (options) => client.apiKeys.create(wanted, options))).key;
      await client.apiKeys.change(apiKey.id, wanted);
      return null;
    },
    {
      renews: ['api-keys'],
      done: () => t(apiKey === null ? 'key_made' : 'key_changed'),
      onDone: (key) => {
        onClose();
        if (key !== null) onMade(key);
      },
    },
  );
  const labels = {
    name: t('name'),
    scopes: t('scopes'),
    queues: t('which_queues'),
    extensions: t('which_extensions'),
    expires_at: t('expires'),
  };
  const field = fieldsWith(change.error, labels);
  return (
    <Dialog opened onClose={onClose} title={t(apiKey === null ? 'new_key' : 'change_key')} size="lg">
      <ChangeForm
        change={change}
        submit={apiKey === null ? t('make_key') : t('save')}
        labels={labels}
        onClose={onClose}
      >
        <TextInput
          {...field('name')}
          description={t('key_name_hint')}
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
          data-autofocus
          required
        />
        <Checkbox.Group
          {...field('scopes')}
          description={t('scopes_hint')}
          value={[...scopes]}
          onChange={setScopes}
          withAsterisk
        >
          <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="sm" verticalSpacing={10} mt="xs">
            {ALL.map((scope) => (
              <Checkbox key={scope} value={scope} label={scopeText(scope)} description={scope} />
            ))}
          </SimpleGrid>
        </Checkbox.Group>
        <Reach
          label={labels.queues}
          all={t('all_queues')}
          some={t('some_queues')}
          value={queues}
          onChange={setQueues}
        >
          {(value, onChange) => (
            <MultiSelect
              aria-label={t('some_queues')}
              error={errorAt(change.error, 'queues')}
              placeholder={value.length === 0 ? t('choose') : ''}
              data={known.data?.queues.map((q) => ({ value: q.name, label: q.title })) ?? value}
              value={value}
              onChange={onChange}
              searchable
            />
          )}
        </Reach>
        <Reach
          label={labels.extensions}
          all={t('all_extensions')}
          some={t('some_extensions')}
          value={extensions}
          onChange={setExtensions}
        >
          {(value, onChange) => (
            <TagsInput
              aria-label={t('some_extensions')}
              error={errorAt(change.error, 'extensions')}
              placeholder={t('type_and_enter')}
              value={value}
              onChange={onChange}
              splitChars={[',', ' ']}
            />
          )}
        </Reach>
        <TextInput
          type="datetime-local"
          {...field('expires_at')}
          description={t('expires_hint')}
          value={expires}
          onChange={(event) => setExpires(event.currentTarget.value)}
        />
      </ChangeForm>
    </Dialog>
  );
}
