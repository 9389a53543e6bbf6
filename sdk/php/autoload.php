<?php

// For a project without Composer: require 'path/to/sdk/autoload.php';

declare(strict_types=1);

foreach (['Contract', 'errors', 'Exact', 'Transport', 'Gateway', 'Webhooks', 'receivers'] as $file) {
    require_once __DIR__ . "/src/$file.php";
}
