<?php
// Reads IPNs, one JSON object a line, and verifies each twice: over its raw bytes, and over its fields encoded again.

function encoded(string $text): string
{
    $bare = ['%21' => '!', '%27' => "'", '%28' => '(', '%29' => ')', '%2A' => '*', '%7E' => '~'];
    return strtr(urlencode($text), $bare);
}

$verified = 0;
while (($line = fgets(STDIN)) !== false) {
    $ipn = json_decode($line, true, 8, JSON_THROW_ON_ERROR);
    parse_str($ipn['body'], $parsed);
    $pairs = $again = [];
    foreach ($parsed as $name => $value) {
        $pairs[] = [(string) $name, $value];
        $again[] = encoded((string) $name) . '=' . encoded($value);
    }
    $again = implode('&', $again);
    $signed = fn (string $bytes): string => hash_hmac('sha512', $bytes, $ipn['secret']);
    if ($signed($ipn['body']) !== $ipn['hmac'] || $signed($again) !== $ipn['hmac'] || $pairs !== $ipn['fields']) {
        fwrite(STDERR, "{$ipn['body']}\n{$again}\n" . json_encode($ipn['fields']) . "\n");
        exit(1);
    }
    $verified += 1;
}
echo $verified, "\n";
