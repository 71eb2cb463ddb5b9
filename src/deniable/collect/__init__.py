"""From a respondent's device to a file of reports: the browser's client, in the folder `web`."""
