import { useState } from 'react';
import type { FormEvent, ReactNode } from 'react';
import { Alert, Button, Divider, Group, Loader, Select, Stack, Text, TextInput } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Copy, Monitor } from 'lucide-react';
import type { Board, DisplayKey, NewBoard } from '@offhook/contract/boards.ts';
import { CopyButton } from '../app/copy.ts';
import { useAttempt } from '../app/attempt.ts';
import { ChangeForm } from '../app/change-form.tsx';
import { fieldsWith } from '../app/field-errors.ts';
import { formatAgo, formatDateTime } from '../app/format.ts';
import { serverNow } from '../app/now.ts';
import { Danger } from '../app/danger.tsx';
import { useOnce } from '../app/once.ts';
import { useClient } from '../app/session.tsx';
import { Failure } from '../app/states.tsx';
import { PAGE_PATHS } from '../app/paths.ts';
import { wordsOf } from '../app/words.ts';

const e = wordsOf('board-editor');
const app = wordsOf('app');
const t = wordsOf('wallboard');

const DAY_MS = 86_400_000;
const DAYS = [7, 30, 365];
/** The key is in the fragment, which browsers never send. */
const linkOf = (board: number, key: string): string =>
  `${location.origin}${PAGE_PATHS.display.replace(':board', String(board))}#key=${key}`;

/** The displays of a board: a link for a new one, and buttons that end the others. */
export function Displays({ board }: { readonly board: Board }): ReactNode {
  const client = useClient();
  const queries = useQueryClient();
  const [name, setName] = useState('');
  // As shown, so that a repeat after a lost answer is the same request.
  const [ends] = useState(() => DAYS.map((count) => new Date(serverNow() + count * DAY_MS).toISOString()));
  const [expires_at, setExpiry] = useState<string | null>(null);
  const attempt = useAttempt();
  const again = (): Promise<void> => queries.invalidateQueries({ queryKey: ['display-keys', board.id] });
  const keys = useQuery({
    queryKey: ['display-keys', board.id],
    queryFn: ({ signal }) => client.boards.displayKeys(board.id, signal),
  });
  const make = useOnce({
    mutationFn() {
      const wanted = { name: name.trim(), expires_at };
      return attempt(wanted, (options) => client.boards.createDisplayKey(board.id, wanted, options));
    },
    onSuccess: async () => {
      setName('');
      await again();
    },
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    make.mutate();
  };
  const labels = { name: e('display_name'), expires_at: e('display_expiry') };
  const field = fieldsWith(make.error, labels);
  const made = make.data === undefined ? null : linkOf(board.id, make.data.key);
  const list = keys.data?.display_keys ?? [];
  return (
    <Stack>
      <Text size="sm">{e('display_intro')}</Text>
      <form onSubmit={submit}>
        <Group align="end">
          <TextInput
            {...field('name')}
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
            maxLength={64}
            required
            flex={1}
            miw={180}
          />
          <Select
            {...field('expires_at')}
            placeholder={e('display_never')}
            value={expires_at}
            onChange={setExpiry}
            clearable
            data={ends.map((value) => ({ value, label: formatDateTime(value) }))}
            w={220}
          />
          <Button type="submit" loading={make.isPending}>
            {e('make_link')}
          </Button>
        </Group>
      </form>
      {make.error !== null && <Failure error={make.error} labels={labels} />}
      {made !== null && (
        <Alert color="offhook" variant="light" role="status" title={e('link_once')}>
          <Group align="end" wrap="nowrap">
            <TextInput
              label={e('link')}
              value={made}
              readOnly
              flex={1}
              onFocus={(event) => event.currentTarget.select()}
              data-display-link
            />
            <CopyButton value={made}>
              {({ copied, copy }) => (
                <Button variant="default" leftSection={<Copy size={16} aria-hidden />} onClick={copy}>
                  {app(copied ? 'copied' : 'copy')}
                </Button>
              )}
            </CopyButton>
          </Group>
        </Alert>
      )}
      <Divider />
      {keys.isPending && <Loader size="sm" />}
      {keys.error !== null && <Failure error={keys.error} onRetry={() => void keys.refetch()} />}
      {keys.isSuccess && list.length === 0 && (
        <Text size="sm" c="dimmed">
          {e('no_displays')}
        </Text>
      )}
      {list.map((key) => (
        <Group key={key.id} justify="space-between" wrap="nowrap">
          <Group gap="sm" wrap="nowrap" miw={0}>
            <Monitor size={18} aria-hidden />
            <div>
              <Text size="sm" fw={600}>
                {key.name}
              </Text>
              <Text size="xs" c="dimmed">
                {key.last_used_at === null
                  ? e('never_used')
                  : e('last_used', { ago: formatAgo(key.last_used_at, serverNow()) })}
                {key.expires_at !== null && ` · ${e('display_expiry')} ${formatDateTime(key.expires_at)}`}
              </Text>
            </div>
          </Group>
          <Revoke
            board={board}
            display={key}
            onRevoked={async () => {
              if (make.data?.display_key.id === key.id) make.reset();
              await again();
            }}
          />
        </Group>
      ))}
    </Stack>
  );
}
interface RevokeProps {
  readonly board: Board;
  readonly display: DisplayKey;
  readonly onRevoked: () => Promise<void>;
}
function Revoke({ board, display, onRevoked }: RevokeProps): ReactNode {
  const client = useClient();
  const revoke = useOnce<unknown, undefined>({
    mutationFn: () => client.boards.revokeDisplayKey(board.id, display.id),
    onSettled: onRevoked,
  });
  return (
    <Danger
      label={e('revoke')}
      about={display.name}
      title={e('revoke_title', { name: display.name })}
      text={e('revoke_text')}
      size="xs"
      change={revoke}
    />
  );
}

interface SaveFirstProps {
  readonly from: Required<NewBoard>;
  readonly onSaved: (board: Board) => void;
  readonly onClose: () => void;
}
/** A key opens a saved board only, not the built-in one. */
export function SaveFirst({ from, onSaved, onClose }: SaveFirstProps): ReactNode {
  const client = useClient();
  const [name, setName] = useState(from.name);
  const attempt = useAttempt();
  const save = useOnce({
    mutationFn() {
      const wanted = { ...from, name };
      return attempt(wanted, (options) => client.boards.create(wanted, options));
    },
    onSuccess: ({ board }) => onSaved(board),
  });
  const labels = { name: t('name') };
  return (
    <ChangeForm change={save} submit={e('save')} labels={labels} onClose={onClose}>
      <Text size="sm">{e('save_first')}</Text>
      <TextInput
        {...fieldsWith(save.error, labels)('name')}
        data-autofocus
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
        maxLength={80}
        required
      />
    </ChangeForm>
  );
}
