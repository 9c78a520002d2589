/** Applies the draft: comment, confirmation of overwritten files, and the button. */
import { useState } from 'react';
import type { ReactNode } from 'react';
import { Button, Checkbox, Group, Paper, Stack, Text, TextInput, Title } from '@mantine/core';
import { Rocket } from 'lucide-react';
import { useLocation } from 'wouter';
import { useDraft } from '../app/draft.ts';
import { useOnce } from '../app/once.ts';
import { useClient } from '../app/session.tsx';
import { Failure } from '../app/states.tsx';
import { wordsOf } from '../app/words.ts';
import { PAGE_PATHS } from '../app/paths.ts';
import { useRenewed } from './data.ts';

const t = wordsOf('admin');

interface ApplyCardProps {
  readonly draft: string | null;
  readonly drift: readonly string[];
  readonly restart: readonly string[];
  readonly blocked: boolean;
}
export function ApplyCard({ draft, drift, restart, blocked }: ApplyCardProps): ReactNode {
  const client = useClient();
  const renew = useRenewed();
  const [, go] = useLocation();
  const [comment, setComment, clearComment] = useDraft('config.comment');
  const [overwrite, setOverwrite] = useState(false);
  const [anew, setAnew] = useState(false);
  const apply = useOnce({
    mutationFn: () =>
      client.config.apply({
        comment: comment.trim() === '' ? null : comment.trim(),
        ...(draft === null ? {} : { draft }),
        overwrite_drift: overwrite,
        restart: anew ? 'when_convenient' : 'no',
      }),
    onSuccess({ apply: begun }) {
      clearComment();
      go(PAGE_PATHS.apply.replace(':apply', String(begun.id)));
    },
    onError: renew,
  });
  return (
    <Paper withBorder p="md" component="section" aria-labelledby="apply">
      <Title order={2} size="h4" id="apply" mb="xs">
        {t('apply_title')}
      </Title>
      <Stack gap="sm">
        <Text size="sm" c="dimmed">
          {t('apply_lead')}
        </Text>
        <TextInput
          label={t('comment')}
          description={t('comment_help')}
          maxLength={200}
          value={comment}
          onChange={(event) => setComment(event.currentTarget.value)}
          maw={560}
        />
        {drift.length > 0 && (
          <Checkbox
            label={t('overwrite_drift')}
            description={drift.join(', ')}
            checked={overwrite}
            onChange={(event) => setOverwrite(event.currentTarget.checked)}
          />
        )}
        {restart.length > 0 && (
          <Checkbox
            label={t('restart_engine')}
            description={t('restart_engine_text', { files: restart.join(', ') })}
            checked={anew}
            onChange={(event) => setAnew(event.currentTarget.checked)}
          />
        )}
        {apply.isError && <Failure error={apply.error} />}
        <Group>
          <Button
            leftSection={<Rocket size={16} aria-hidden />}
            loading={apply.isPending}
            disabled={blocked || draft === null || (drift.length > 0 && !overwrite)}
            onClick={() => apply.mutate()}
          >
            {t('apply')}
          </Button>
        </Group>
      </Stack>
    </Paper>
  );
}
