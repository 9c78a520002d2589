/** Files of the engine changed by hand, with both remedies. */
import { useState } from 'react';
import type { ReactNode } from 'react';
import { Badge, Button, List, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { formatDateTime } from '../app/format.ts';
import { useClient } from '../app/session.tsx';
import { Diff } from './diff.tsx';
import { Note } from './tone.tsx';
import { wordsOf } from '../app/words.ts';

const t = wordsOf('admin');

export function useDrift() {
  const client = useClient();
  return useQuery({
    queryKey: ['config', 'drift'],
    queryFn: ({ signal }) => client.config.drift(signal),
  });
}
export function DriftNotice(): ReactNode {
  const [open, setOpen] = useState(false);
  const { data } = useDrift();
  const files = data?.files ?? [];
  if (files.length === 0) return null;
  const written = files.some((file) => !file.hand_written);
  return (
    <Note tone="warn" title={t('drift_title')}>
      <Stack gap="xs">
        <Text size="sm">{t(written ? 'drift_text' : 'drift_own_text')}</Text>
        <List size="sm">
          {files.map((file) => (
            <List.Item key={file.name}>
              <code>{file.name}</code>
              {` · ${t(file.missing ? 'drift_missing' : 'drift_since', { time: formatDateTime(file.since) })} `}
              {file.hand_written && (
                <Badge variant="default" tt="none">
                  {t('hand_written')}
                </Badge>
              )}
            </List.Item>
          ))}
        </List>
        {written && (
          <List size="sm">
            <List.Item>{t('drift_way_over')}</List.Item>
            <List.Item>{t('drift_way_keep')}</List.Item>
          </List>
        )}
        <div>
          <Button size="xs" variant="default" aria-expanded={open} onClick={() => setOpen(!open)}>
            {t(open ? 'hide' : 'show_drift')}
          </Button>
        </div>
        {open && files.map((file) => <Diff key={file.name} name={file.name} diff={file.diff} />)}
      </Stack>
    </Note>
  );
}
